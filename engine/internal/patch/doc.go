// Package patch applies the two patch languages that API servers accept for custom resources: JSON merge patches (RFC
// 7386) and JSON patches (RFC 6902). It behaves like the library that API servers use. It does not know Kubernetes
// objects. It returns HTTP status codes, but uses nothing else of HTTP.
//
// That library parses texts lazily, along the paths of operations, and this is visible: the operation "test" compares
// unparsed texts, and parsing changes how texts are printed. So a Tree has closed, opened and copied nodes over the two
// documents, without copies of their texts. Read apply.go first, then node.go, operation.go and merge.go.
//
// Cost and memory are bounded: a node is opened once, copies may take 3 MiB as upstream, and moves of list elements and
// the depth of nested copies are counted.
//
// Upstream: gopkg.in/evanphx/json-patch.v4 patch.go and merge.go; k8s.io/apiserver pkg/endpoints/handlers/patch.go,
// applyJSPatch.
package patch
