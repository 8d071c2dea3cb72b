package sample

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Change sets, adds or removes one value of an object.
type Change struct {
	// Path leads to the value. An index equal to the length of the list adds an element.
	Path tree.Path
	// Value is the new value, nil if the value is removed.
	Value *Tree
}

// Apply changes an object. It returns false if the object does not have the place.
func (c *Change) Apply(o *Tree) bool {
	last := len(c.Path) - 1
	parent := o.Follow(c.Path[:last])
	if parent == nil {
		return false
	}
	step := c.Path[last]
	i := parent.child(step)
	switch {
	case c.Value == nil && i < 0:
		return false
	case c.Value == nil:
		parent.remove(i)
	case i >= 0:
		parent.Items[i] = c.Value.Clone().named(parent.Items[i].Key)
	case step.IsIndex() && parent.Kind == tree.Array && step.Index() == len(parent.Items):
		parent.Items = append(parent.Items, c.Value.Clone())
	case !step.IsIndex() && parent.Kind == tree.Object:
		parent.set(step.Key(), c.Value.Clone())
	default:
		return false
	}
	return true
}

// Edit returns a change of an object that probably keeps it valid, outside of its metadata. It returns nil if the
// schema allows none.
func (g *Generator) Edit(r Random, o *Tree) *Change {
	e := editor{r: r}
	e.collect(g.root.choose(r), o, nil)
	g.density, g.left = pick(r, densities), pick(r, sizes[:2])
	for range 8 {
		places, removing := e.present, false
		switch r.IntN(5) {
		case 0, 1:
			places, removing = e.removable, true
		case 2:
			places = e.absent
		}
		if len(places) == 0 {
			continue
		}
		p := pick(r, places)
		c := &Change{Path: p.path}
		if removing {
			return c
		}
		if c.Value = g.free(r, 1); p.schema != nil {
			c.Value = g.value(r, p.schema, len(p.path))
		}
		if p.now == nil || string(p.now.JSON()) != string(c.Value.JSON()) {
			return c
		}
	}
	return nil
}

// place is a value that can be changed, removed or added.
type place struct {
	path   tree.Path
	schema *node
	now    *Tree // nil if it is absent
}

type editor struct {
	r                          Random
	present, removable, absent []place
}

// collect collects the places below a value.
func (e *editor) collect(n *node, t *Tree, at tree.Path) {
	if n == nil {
		return
	}
	for i, m := range t.Items {
		step := tree.Name(m.Key)
		if t.Kind == tree.Array {
			step = tree.At(i)
		}
		if len(at) == 0 && isHead(m.Key) {
			continue
		}
		below := n.at(step)
		p := place{at.With(step), below, m}
		if below != nil {
			below = below.choose(e.r)
		}
		if below != nil || n.open() {
			e.present = append(e.present, p)
		}
		if removable(n, t, step) {
			e.removable = append(e.removable, p)
		}
		e.collect(below, m, p.path)
	}
	switch t.Kind {
	case tree.Array:
		if n.element() != nil && (n.MaxItems == nil || int64(len(t.Items)) < *n.MaxItems) {
			e.absent = append(e.absent, place{at.With(tree.At(len(t.Items))), n.element(), nil})
		}
	case tree.Object:
		for _, name := range n.names {
			if t.index(name) < 0 && (len(at) > 0 || !isHead(name)) && !slices.Contains(n.forbidden, name) {
				e.absent = append(e.absent, place{at.With(tree.Name(name)), n.property(name), nil})
			}
		}
		if schema.ValueSchema(n.Props) != nil {
			e.absent = append(e.absent, place{at.With(tree.Name(pick(e.r, entryNames))), n.member(""), nil})
		}
	}
}

// isHead reports whether a member of the root is the same in every version.
func isHead(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

// Reverse returns the JSON text of an equal value: with white space, and with the members of objects in reverse order.
func Reverse(o *Tree) []byte {
	c := o.Clone()
	reverse(c)
	text := c.JSON()
	out := make([]byte, 0, len(text)+16)
	quoted, escaped := false, false
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case b == '\\':
			escaped = true
		case b == '"':
			quoted = !quoted
		case !quoted && (b == ',' || b == ':'):
			out = append(out, ' ', b, '\n')
			continue
		}
		out = append(out, b)
	}
	return out
}

func reverse(t *Tree) {
	if t.Kind == tree.Object {
		slices.Reverse(t.Items)
	}
	for _, m := range t.Items {
		reverse(m)
	}
}

// ListKeys returns the keys of the list of type map at a path, nil for another list.
func (g *Generator) ListKeys(path tree.Path) []string {
	n := g.root
	for _, s := range path {
		if n = n.at(s); n == nil {
			return nil
		}
	}
	if !n.isMapList() {
		return nil
	}
	return n.XListMapKeys
}
