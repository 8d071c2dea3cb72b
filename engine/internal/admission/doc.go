// Package admission knows the order of all steps: what an API server does between reading the bytes of a write and storing
// them (create.go), when it reads them back from storage (transform.go), and what a refusal says (refusal.go).
//
// A create goes two ways. The accept way parses once, settles metadata on the tree and lets program's accept walk shape and
// validate in one pass; nothing in it builds a path or a text. At the first doubt the document is parsed again and goes the
// exact way, step by step in upstream's order: package metadata, then program's shape and explain. Whatever the fast way
// accepts, the exact way accepts, with the same object.
//
// Upstream: k8s.io/apiserver pkg/endpoints/handlers/create.go, pkg/registry/rest/create.go; k8s.io/apiextensions-apiserver
// pkg/apiserver/customresource_handler.go, pkg/registry/customresource/{strategy,validator}.go.
package admission
