// Package metadata knows ObjectMeta and TypeMeta: at the root of an object and in embedded resources. It coerces (what
// upstream's round trip through metav1.ObjectMeta does to a document) and validates.
//
// Both have two speeds. Ordinary metadata is settled on the tree, without an allocation: Settle says that coercion leaves it
// as it stands, Plain that validation finds nothing, and Faults what it finds mostly. Everything else goes through apimachinery
// itself, on a materialised metav1.ObjectMeta, so that texts, order and quirks are upstream's by construction. The words of Faults
// are upstream's too: they are asked for once.
//
// The package knows no schemas: which objects have metadata is for program (embedded resources) and admission (the root)
// to say.
package metadata
