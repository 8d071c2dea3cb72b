package patch

import "github.com/crdeval/crdeval/internal/value"

// unreadable is what an API server says of a merge patch that is no object, and of a null.
const unreadable = "Invalid JSON Patch"

// mergeInto merges a patch into the root, which is an object. A patch that is a list takes its place: the caller will find that this is no
// object.
func (t *Tree) mergeInto(patch uint32) error {
	switch t.patch.Nodes[patch].Kind {
	case value.Object:
		t.merge(&t.root, patch)
		return nil
	case value.Array:
		t.root = node{kind: ofMerge, at: patch}
		return nil
	}
	return badRequest(unreadable)
}

// merge merges an object of the patch into an object. Nulls are dropped from what is new; but where something that is no object takes the place of an
// object, they stay in it.
//
// Upstream: merge.go, mergeDocs and merge.
func (t *Tree) merge(into *node, patch uint32) {
	c := t.opens(into)
	at := into.at
	for p := t.patch.Nodes[patch].First; p != 0; p = t.patch.Nodes[p].Next {
		if p&1023 == 0 && t.stop.Stopped() {
			return // as the caller sees
		}
		key, i := t.patch.Key(p), c.member(t.patch.Key(p))
		isObject := t.patch.Nodes[p].Kind == value.Object
		switch {
		case t.patch.Nodes[p].Kind == value.Null:
			if i >= 0 {
				c.drop(i)
			}
		case i < 0 || t.shape(c.members[i].node) != value.Object:
			c.set(key, node{kind: ofMerge, at: p})
		case !isObject:
			c.set(key, node{kind: ofPatch, at: p})
		default:
			n := c.members[i].node
			t.merge(&n, p)
			c = &t.open[at] // more may have been opened
			c.members[i].node = n
		}
	}
}
