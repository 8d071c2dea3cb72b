// Package plan compiles the schema of one CRD version to a Plan and evaluates objects with it.
//
// A Plan is a tree of immutable, shared Nodes. Three walks read it, all over value.Doc:
//
//   - accept shapes (prunes, drops nulls, fills in defaults) and validates in one pass. It answers "valid" or "doubt",
//     builds no paths and no errors, and allocates nothing.
//   - shape makes the same changes step by step in upstream's order, and can report them.
//   - explain follows kube-openapi's validators over a shaped tree and returns upstream's errors.
//
// Accept answers "valid" exactly when shape and explain find no error. Other packages know the order of a write
// (admission), ObjectMeta (metadata), and the constraints on a CRD's own schema (schema).
//
// Comments abbreviate k8s.io/apiextensions-apiserver/pkg as AE and k8s.io/kube-openapi/pkg/validation as KO.
//
// Read node.go first.
package plan
