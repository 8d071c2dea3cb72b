package patch

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Tree is a patched object.
type Tree struct {
	old, patch *tree.Doc
	printed    bool // upstream printed the text of old
	open       []container
	root       node
	stop       *interrupt.Signal

	copied  int   // bytes added by copy operations
	shifted int64 // list elements moved to another index
	crashed bool  // upstream's handler would have panicked
	scratch []byte
}

// node is one value of a Tree.
type node struct {
	kind kind
	at   uint32 // in the Doc of its kind, or the index of its container
	into uint32 // of a merged node: the object of old that it changes, or 0
}

// kind is the origin of a node. It determines the text of the value; see package value and print.go.
type kind uint8

const (
	null       kind = iota // a null in a text, or an absent member
	ofOld                  // a value of the old object, which upstream prints before it patches
	ofPatch                // a value of the patch, as it is written
	ofCopy                 // a value of the patch that was copied, and printed
	merged                 // a value of a merge patch: it changes an object, or is new and has no nulls in its objects
	opened                 // an opened list or object
	given                  // a null as the value of an operation; it equals only such nulls
	copiedNull             // a copy of that: an empty object to which nothing can be added
)

// container is an object or a list whose members are nodes.
type container struct {
	list     bool
	sealed   bool // a copiedNull: adding to it makes upstream's handler panic
	elements []node
	members  []member
	live     int            // number of members that are not removed
	index    map[string]int // members by key, if there are many
}

type member struct {
	key     string
	removed bool
	node
}

// nested reports whether more than most containers are nested. Closed nodes do not count.
func (t *Tree) nested(n node, most int) bool {
	if n.kind != opened {
		return false
	}
	if most == 0 {
		return true
	}
	c := &t.open[n.at]
	for i := range c.elements {
		if t.nested(c.elements[i], most-1) {
			return true
		}
	}
	for i := range c.members {
		if !c.members[i].removed && t.nested(c.members[i].node, most-1) {
			return true
		}
	}
	return false
}

func tooNested() error {
	return &tree.LimitError{Name: "max_patch_nesting", Limit: "nesting depth of what a patch makes", Unit: "levels",
		Maximum: MaxNested, Actual: MaxNested + 1, AtLeast: true, Advice: "no API server decodes so deep an object"}
}

// many is the number of members from which a map is used.
const many = 12

// doc returns the Doc of the nodes of a kind, or nil.
func (t *Tree) doc(k kind) *tree.Doc {
	switch k {
	case ofOld:
		return t.old
	case ofPatch, ofCopy, merged:
		return t.patch
	}
	return nil
}

// shape returns the JSON kind of a node. A copiedNull is a Null.
func (t *Tree) shape(n node) tree.Kind {
	if d := t.doc(n.kind); d != nil {
		return d.Nodes[n.at].Kind
	}
	switch {
	case n.kind != opened:
		return tree.Null
	case t.open[n.at].list:
		return tree.Array
	}
	return tree.Object
}

// child returns a value of a Doc as a member of an opened node.
func child(k kind, d *tree.Doc, at uint32) node {
	if d.Nodes[at].Kind == tree.Null {
		return node{}
	}
	return node{kind: k, at: at}
}

// opens opens a list or an object in place and returns it, or nil for other nodes. The result is valid until the next
// call.
func (t *Tree) opens(n *node) *container {
	switch n.kind {
	case opened:
		return &t.open[n.at]
	case copiedNull:
		return t.add(n, container{sealed: true})
	}
	if t.doc(n.kind) == nil || !isContainer(t.shape(*n)) {
		return nil
	}
	return t.add(n, t.contents(*n))
}

// contents returns the elements or members of a list or an object that is not opened.
func (t *Tree) contents(n node) container {
	d := t.doc(n.kind)
	c := container{list: d.Nodes[n.at].Kind == tree.Array, live: d.Len(n.at)}
	if c.list {
		c.elements = make([]node, 0, c.live)
	} else {
		c.members = make([]member, 0, c.live)
	}
	for i := d.Nodes[n.at].First; i != 0; i = d.Nodes[i].Next {
		if c.list {
			c.elements = append(c.elements, child(n.kind, d, i))
		} else {
			c.members = append(c.members, member{key: d.Key(i), node: child(n.kind, d, i)})
		}
	}
	return c
}

// merge returns the contents of a merged list or object. Nulls are dropped from the objects of new values, but stay in
// a value that replaces an object.
//
// Upstream: merge.go, mergeDocs and merge.
func (t *Tree) merge(n node) (c container) {
	d := t.patch
	if n.into == 0 {
		c = t.contents(n)
		c.members = slices.DeleteFunc(c.members, func(m member) bool { return m.kind == null })
		return c
	}
	c = t.contents(node{kind: ofOld, at: n.into})
	for p := d.Nodes[n.at].First; p != 0; p = d.Nodes[p].Next {
		switch i, made := c.member(d.Key(p)), child(merged, d, p); {
		case made.kind == null && i >= 0:
			c.drop(i)
		case made.kind == null:
		case i < 0:
			c.members = append(c.members, member{key: d.Key(p), node: made})
		default:
			if old := c.members[i].node; t.shape(old) == tree.Object && t.shape(made) == tree.Object {
				made.into = old.at
			} else if t.shape(old) == tree.Object {
				made.kind = ofPatch
			}
			c.members[i].node = made
		}
	}
	return c
}

func (t *Tree) add(n *node, c container) *container {
	*n = node{kind: opened, at: uint32(len(t.open))}
	t.open = append(t.open, c)
	return &t.open[n.at]
}

// member returns the index of a member of an object, or -1.
func (c *container) member(key string) int {
	if len(c.members) < many {
		for i := range c.members {
			if !c.members[i].removed && c.members[i].key == key {
				return i
			}
		}
		return -1
	}
	if c.index == nil {
		c.index = make(map[string]int, len(c.members))
		for i := range c.members {
			if !c.members[i].removed {
				c.index[c.members[i].key] = i
			}
		}
	}
	if i, ok := c.index[key]; ok {
		return i
	}
	return -1
}

// set sets a member of an object.
func (c *container) set(key string, n node) {
	if i := c.member(key); i >= 0 {
		c.members[i].node = n
		return
	}
	if c.index != nil {
		c.index[key] = len(c.members)
	}
	c.members = append(c.members, member{key: key, node: n})
	c.live++
}

// drop removes a member of an object.
func (c *container) drop(i int) {
	c.members[i].removed = true
	c.live--
	delete(c.index, c.members[i].key)
}
