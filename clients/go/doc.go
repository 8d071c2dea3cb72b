// Package crdeval is the Go client of the crdeval service: a thin layer over the generated stubs of
// github.com/crdeval/crdeval/proto/crdeval/v1 that takes manifests and objects as the bytes they are, remembers the
// consistency token of its own writes, splits what is too much for one call, and turns refusals into errors.
//
// The stubs themselves are a method away: Client.Registry, Client.Evaluation and Client.Server. To evaluate inside your own
// process, without a service, use github.com/crdeval/crdeval/engine.
package crdeval
