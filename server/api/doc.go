// Package api has the gRPC handlers: it checks requests against the published limits, hands documents to the engine, and
// spells answers as messages of crdeval.v1.
//
// It keeps no state and knows neither how CRDs are stored (Registry is all it needs) nor how they are judged (package engine).
// status.go is the one place where errors of both become statuses; batch.go runs the items of a call; evaluation.go and
// registry_service.go are the handlers themselves.
package api
