// Package diff compares two CRDs: what changes for stored objects and for clients if the new CRD replaces the old one.
//
// Kubernetes accepts almost every change of a CRD, even one that rejects stored objects. Three functions find out more,
// each with more information than the one before:
//
//   - Compare reads two manifests and returns a Result: its Changes, each with its Class (Compatible, NeedsCare or
//     Breaking) for stored objects, for writers and for readers. Schemas are compared by the values that they accept, not
//     by their keywords. If the schemas do not decide whether a change rejects writes, it needs care.
//   - Counterexamples searches for each change a write that the old CRD accepts and the new one rejects because of it. A
//     change for which it finds one is Breaking.
//   - Replay evaluates objects of your own under both CRDs, and returns for each what changes: whether it is rejected, and
//     which fields are pruned, defaulted or converted in another way.
//
// Counterexamples and Replay take compiled CRDs, see engine.Compile. docs/diff.md in the repository lists all kinds of
// changes.
package diff
