package patch

import "github.com/crdeval/crdeval/engine/value"

// unreadable is an API server's message about a merge patch that is not an object, and about null.
const unreadable = "Invalid JSON Patch"

// mergeInto merges a patch into the root, which is an object. A patch that is a list replaces it; the caller reports
// that.
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

// merge merges an object of the patch into an object. Nulls are dropped from new values, but stay in an object that
// replaces another value.
//
// Upstream: merge.go, mergeDocs and merge.
func (t *Tree) merge(into *node, patch uint32) {
	c := t.opens(into)
	at := into.at
	for p := t.patch.Nodes[patch].First; p != 0; p = t.patch.Nodes[p].Next {
		if p&1023 == 0 && t.stop.Stopped() {
			return // the caller checks for the deadline
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
			c = &t.open[at] // opening more may have moved it
			c.members[i].node = n
		}
	}
}
