// Package metadata coerces and validates ObjectMeta and TypeMeta, of objects and of embedded resources. Coercion
// changes metadata as decoding it into metav1.ObjectMeta and encoding it again would.
//
// Common metadata is handled on the tree without allocations: Normalize coerces it, Plain reports that it is valid, and
// Faults returns the common errors. Other metadata goes through apimachinery itself, on a metav1.ObjectMeta, so that
// texts, order and quirks are upstream's. A check is therefore in two places: plain.go or faults.go, and validate.go.
//
// The package knows no schemas: package plan finds embedded resources, and package admission handles the root.
package metadata
