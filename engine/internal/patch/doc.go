// Package patch knows the two patch languages that API servers take for custom resources: JSON merge patches (RFC 7386) and JSON patches
// (RFC 6902), as the library means them that API servers patch with. It knows nothing of Kubernetes objects, and of HTTP only the codes of
// refusals.
//
// That library works on texts that it opens as far as a path leads, and what it does shows it: whether two values are the same to a test
// depends on how their texts are written, and on whether something opened them before. So a Tree has nodes that are closed, opened or
// copied, over the two documents and without a copy of their texts; apply.go is the way in, then read node.go, operation.go and merge.go.
//
// Cost and memory are bounded whatever the patch says: a node is opened once, copies may take 3 MiB as upstream, how often elements of
// lists are moved is counted, and so is how deep what was moved stands in each other.
//
// Upstream: gopkg.in/evanphx/json-patch.v4 patch.go and merge.go; k8s.io/apiserver pkg/endpoints/handlers/patch.go, applyJSPatch.
package patch
