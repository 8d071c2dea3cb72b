// Package plan knows what one version of one CRD compiles to, and evaluates objects with it.
//
// Compile turns a schema into a Plan: a tree of immutable, shared Nodes. Three walks read it, all over value.Doc:
//
//   - accept shapes (prunes, drops nulls, fills defaults) and validates in one pass, and answers "valid" or "doubt";
//     it builds no paths and no errors and allocates nothing;
//   - shape does the same changes step by step in upstream's order, and can say what it changed;
//   - explain follows kube-openapi's validators over a shaped tree and gives upstream's findings.
//
// Accept says valid exactly when shape followed by explain would find nothing. It does not know the order of the whole
// write (package admission), ObjectMeta (package metadata), nor the rules of a CRD's own schema (package schema).
//
// Comments name upstream's files with AE for k8s.io/apiextensions-apiserver/pkg and KO for k8s.io/kube-openapi/pkg/validation.
//
// Read node.go first: it is the model that everything else here is about.
package plan
