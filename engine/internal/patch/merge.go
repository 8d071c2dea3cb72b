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
		t.root = t.withoutNulls(patch)
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
			n := t.withoutNulls(p)
			c = &t.open[at] // opening more may have moved it
			c.set(key, n)
		case !isObject:
			c.set(key, node{kind: ofPatch, at: p})
		default:
			t.merge(&c.members[i].node, p)
			c = &t.open[at]
		}
	}
}

// withoutNulls returns a value of the patch without the nulls in its objects.
func (t *Tree) withoutNulls(at uint32) node {
	d, n := t.patch, node{kind: ofPatch, at: at}
	if !isContainer(d.Nodes[at].Kind) {
		return n
	}
	made := container{list: d.Nodes[at].Kind == value.Array}
	for c := d.Nodes[at].First; c != 0; c = d.Nodes[c].Next {
		switch {
		case made.list && d.Nodes[c].Kind == value.Null:
			made.elements = append(made.elements, node{})
		case made.list:
			made.elements = append(made.elements, t.withoutNulls(c))
		case d.Nodes[c].Kind != value.Null:
			made.members = append(made.members, member{key: d.Key(c), node: t.withoutNulls(c)})
		}
	}
	made.live = len(made.members)
	t.add(&n, made)
	return n
}
