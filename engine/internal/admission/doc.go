// Package admission runs the steps of an API server in their order: from reading the bytes of a write to storing them
// (write.go, store.go), and reading them back from storage (transform.go). It also builds the Status of a rejection
// (rejection.go).
//
// A write has two paths. The fast path parses once, normalizes metadata on the tree, and shapes and validates in one
// pass (package plan, Accept). It builds no paths or texts. If it is in doubt, the exact path parses the document again
// and follows upstream step by step: package metadata, then Shape and Explain of package plan. The exact path accepts
// all that the fast path accepts, with the same object.
//
// Upstream: k8s.io/apiserver pkg/endpoints/handlers/create.go, pkg/registry/rest/create.go;
// k8s.io/apiextensions-apiserver pkg/apiserver/customresource_handler.go,
// pkg/registry/customresource/{strategy,validator}.go.
package admission
