// Package goal has the predicates with which package search looks for objects of compiled CRDs. Each predicate
// evaluates generated writes:
//
//   - Distinguish: one CRD accepts a write, and another rejects it. Comparisons of CRDs and mutants use it.
//   - Subject.Valid: a CRD accepts a creation, and a write of its status.
//   - Subject.Violates: a write violates one constraint of a schema, and no other.
//
// Read subject.go first: it evaluates writes with a version of a CRD. Errors are those of package compiled.
package goal
