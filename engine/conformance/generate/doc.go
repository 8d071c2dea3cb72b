// Package generate generates cases: CRDs and objects that are likely to show differences between two implementations.
//
// Everything is a pure function of a seed, so a seed and a number identify a disagreement on every machine. Most
// generated CRDs are valid, because a rejected CRD has no objects. Objects are derived from a valid one with few
// defects, because an object with many errors tests little.
//
// The prefix of a file is what it generates:
//
//	crd_*     CRDs: fields outside schemas, mutants of real CRDs, updates, what only an update may keep
//	schema_*  schemas and combinations of keywords
//	rule_*    rules: the bank of expressions, where rules are placed, mutants of real rules
//	value_*   values: literals, strings for formats and patterns
//	object_*  objects: defects, edge values, metadata, syntax of JSON and YAML
//	write_*   requests: updates, patches, conversions
//
// real.go takes CRDs and objects of real projects (package corpus). group.go has the result, rand.go the choices.
package generate
