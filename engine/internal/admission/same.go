package admission

import (
	"bytes"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// part is a part of an object that same compares, a set of bits.
type part uint8

const (
	partContent part = 1 << iota // everything but metadata
	partKept                     // metadata without what the storage sets
	partSet                      // what the storage sets

	partStored = partContent | partKept
	partWhole  = partStored | partSet
)

// same reports whether a part of two objects is the same JSON. The order of members does not matter, an integer differs
// from a float, and a missing member from one of null. The objects may share subtrees of one Doc.
func same(x *tree.Doc, i uint32, y *tree.Doc, j uint32, of part) bool {
	if of == partWhole {
		return tree.Equal(x, i, y, j)
	}
	if of&partContent != 0 && !sameMembers(x, i, y, j, "metadata") {
		return false
	}
	return of&partKept == 0 || sameMembers(x, x.Field(i, "metadata"), y, y.Field(j, "metadata"), setByStorage...)
}

// sameMembers compares two values; if they are objects, without the members of some names. It searches a member only if
// the order differs.
func sameMembers(x *tree.Doc, i uint32, y *tree.Doc, j uint32, without ...string) bool {
	if x.Nodes[i].Kind != tree.Object || y.Nodes[j].Kind != tree.Object {
		return tree.Equal(x, i, y, j)
	}
	if count(x, i, without) != count(y, j, without) {
		return false
	}
	finder, next := y.Finder(), y.Nodes[j].First
	for c := x.Nodes[i].First; c != 0; c = x.Nodes[c].Next {
		key := x.Key(c)
		if slices.Contains(without, key) {
			continue
		}
		o := next
		if o == 0 || y.Key(o) != key {
			if o = finder.Field(j, key); o == 0 {
				return false
			}
		}
		shared := x == y && x.Nodes[c].First != 0 && x.Nodes[c].First == y.Nodes[o].First
		if !shared && !tree.Equal(x, c, y, o) {
			return false
		}
		next = y.Nodes[o].Next
	}
	return true
}

// count returns the number of an object's members without those of some names.
func count(d *tree.Doc, object uint32, without []string) int {
	n := d.Len(object)
	for _, key := range without {
		if d.Field(object, key) != 0 {
			n--
		}
	}
	return n
}

// sameText is same for two printed objects. An object with -0, which is printed as 0, is not the same as another text.
func sameText(a, b []byte, of part) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := tree.Acquire(), tree.Acquire()
	defer x.Release()
	defer y.Release()
	i, err := x.Parse(a, tree.Request, tree.Limits{MaxBytes: len(a)})
	if err != nil {
		return false
	}
	j, err := y.Parse(b, tree.Request, tree.Limits{MaxBytes: len(b)})
	if err != nil {
		return false
	}
	return (x.Nodes[i].Flags|y.Nodes[j].Flags)&tree.Lossy == 0 && same(x, i, y, j, of)
}
