// Package convert brings objects from one version of a CRD to another: by changing apiVersion alone (strategy None), or by
// whatever serves the CRD's webhook, whose reply is checked as an API server checks it.
//
// It knows neither schemas nor defaults: package admission coerces the result to the target's schema.
//
// Upstream: apiextensions-apiserver pkg/apiserver/conversion.
package convert
