// Package convert converts objects between versions of a CRD: with strategy None by changing apiVersion, or with the
// CRD's webhook, whose reply it checks like an API server.
//
// It knows neither schemas nor defaults: package admission coerces the result to the target's schema.
//
// Upstream: apiextensions-apiserver pkg/apiserver/conversion.
package convert
