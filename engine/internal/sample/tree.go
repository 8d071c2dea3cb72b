package sample

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Tree is a JSON value that can be changed. Members keep their order.
type Tree struct {
	Kind tree.Kind
	// Key is the name of a member. It is empty for other values.
	Key string
	// Text is the JSON text of a scalar.
	Text string
	// Items are the members of an object or the elements of a list.
	Items []*Tree
}

// Parse returns the tree of a JSON text.
func Parse(text []byte) (*Tree, error) {
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON(text, tree.Limits{MaxBytes: max(len(text), 1)})
	if err != nil {
		return nil, err
	}
	return treeOf(d, root), nil
}

// treeOf copies a value.
func treeOf(d *tree.Doc, i uint32) *Tree {
	n := &d.Nodes[i]
	t := &Tree{Kind: n.Kind, Key: string([]byte(d.Key(i)))}
	if n.Kind != tree.Array && n.Kind != tree.Object {
		t.Text = string(d.Raw(i))
		return t
	}
	if n.Live > 0 {
		t.Items = make([]*Tree, 0, n.Live)
	}
	for c := n.First; c != 0; c = d.Nodes[c].Next {
		t.Items = append(t.Items, treeOf(d, c))
	}
	return t
}

// JSON returns the value as compact JSON.
func (t *Tree) JSON() []byte { return t.append(nil) }

func (t *Tree) append(dst []byte) []byte {
	switch t.Kind {
	case tree.Object:
		dst = append(dst, '{')
		for i, m := range t.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(tree.AppendString(dst, m.Key), ':')
			dst = m.append(dst)
		}
		return append(dst, '}')
	case tree.Array:
		dst = append(dst, '[')
		for i, e := range t.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.append(dst)
		}
		return append(dst, ']')
	}
	return append(dst, t.Text...)
}

// Clone returns a copy.
func (t *Tree) Clone() *Tree {
	c := *t
	c.Items = slices.Clone(t.Items)
	for i, m := range c.Items {
		c.Items[i] = m.Clone()
	}
	return &c
}

// Get returns the member of an object with that name, or nil.
func (t *Tree) Get(name string) *Tree {
	if i := t.index(name); i >= 0 {
		return t.Items[i]
	}
	return nil
}

func (t *Tree) index(name string) int {
	if t == nil || t.Kind != tree.Object {
		return -1
	}
	return slices.IndexFunc(t.Items, func(m *Tree) bool { return m.Key == name })
}

// set sets a member of an object.
func (t *Tree) set(name string, v *Tree) {
	v.Key = name
	if i := t.index(name); i >= 0 {
		t.Items[i] = v
	} else {
		t.Items = append(t.Items, v)
	}
}

// with is set in a chain of calls.
func (t *Tree) with(name string, v *Tree) *Tree {
	t.set(name, v)
	return t
}

// Without returns the object without a member. It shares the other members.
func (t *Tree) Without(name string) *Tree {
	c := *t
	c.Items = slices.DeleteFunc(slices.Clone(t.Items), func(m *Tree) bool { return m.Key == name })
	return &c
}

// remove removes a member or an element.
func (t *Tree) remove(i int) { t.Items = slices.Delete(t.Items, i, i+1) }

// Follow returns the value at the end of a path, or nil.
func (t *Tree) Follow(path tree.Path) *Tree {
	for _, s := range path {
		i := t.child(s)
		if i < 0 {
			return nil
		}
		t = t.Items[i]
	}
	return t
}

// child returns the index of the value at the end of a step, or -1.
func (t *Tree) child(s tree.Segment) int {
	if !s.IsIndex() {
		return t.index(s.Key())
	}
	if t.Kind != tree.Array || s.Index() >= len(t.Items) {
		return -1
	}
	return s.Index()
}

// Body returns the members of an object without apiVersion, kind and metadata. join puts changed members back.
func (t *Tree) Body() (body *Tree, join func()) {
	var head []*Tree
	body = object()
	for _, m := range t.Items {
		if isHead(m.Key) {
			head = append(head, m)
		} else {
			body.Items = append(body.Items, m)
		}
	}
	return body, func() { t.Items = slices.Concat(head, body.Items) }
}

// Leaves returns the number of scalars, empty objects and empty lists.
func (t *Tree) Leaves() (n int) {
	if len(t.Items) == 0 {
		return 1
	}
	for _, m := range t.Items {
		n += m.Leaves()
	}
	return n
}

func object(members ...*Tree) *Tree { return &Tree{Kind: tree.Object, Items: members} }

func array(items ...*Tree) *Tree { return &Tree{Kind: tree.Array, Items: items} }

func text(s string) *Tree { return &Tree{Kind: tree.String, Text: string(tree.AppendString(nil, s))} }

func null() *Tree { return &Tree{Kind: tree.Null, Text: "null"} }

func boolean(b bool) *Tree {
	if b {
		return &Tree{Kind: tree.True, Text: "true"}
	}
	return &Tree{Kind: tree.False, Text: "false"}
}

// parsed returns a value of a schema, such as a default, or nil if it is not JSON.
func parsed(raw []byte) *Tree {
	t, err := Parse(raw)
	if err != nil {
		return nil
	}
	return t
}
