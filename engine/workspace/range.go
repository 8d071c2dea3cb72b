package workspace

import "github.com/crdeval/crdeval/engine/value"

// Range is where a value is in the text of a manifest.
type Range struct {
	// Key is the key of a member with its quotes, empty for the root and for items of lists.
	Key value.Span
	// Value is the value, without the anchor and the tag before it. A missing value, as in "key:", is empty.
	Value value.Span
	// Collection reports whether the value is an object or a list, Flow whether it is in brackets or in a value that is.
	Collection, Flow bool
	// Shared reports whether an alias or a merge key leads to the value: an edit also changes other fields.
	Shared bool
}

// ranges finds the ranges of a manifest, on first use.
type ranges struct{}

// Range returns where the value of a JSON pointer is in the text. If there is no such value, it returns the range of the
// deepest existing parent, and false.
func (m *Manifest) Range(pointer string) (r Range, ok bool) { return r, false }
