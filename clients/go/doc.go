// Package crdeval is the Go client of the crdeval service. It is a thin layer over the generated stubs of
// github.com/crdeval/crdeval/proto/crdeval/v1. It takes manifests and objects as bytes, keeps the consistency token of
// its own writes, splits large requests into several calls, and returns rejections as errors.
//
// The methods Client.Registry, Client.Evaluation, Client.Presentation and Client.Server return the stubs. To evaluate
// in your own process without a service, use github.com/crdeval/crdeval/engine.
package crdeval
