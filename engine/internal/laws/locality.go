package laws

import (
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/value"
)

func (t *tester) locality(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil || tr.part == nil {
		return false, nil
	}
	whole, err := sample.Parse(tr.object)
	if err != nil || t.from.Generator.Complete(tr.part) || !t.from.Generator.Complete(whole) {
		return false, nil
	}
	text := tr.part.JSON()
	a, o := parse(text), parse(tr.object)
	defer a.Release()
	defer o.Release()
	if !identified(a) || outside(a, a.root, o, o.root, nil) != nil {
		return false, nil // after shrinking
	}
	part, err := t.convert(text, t.from, t.to)
	if err != nil {
		return false, nil // such as an item without the key that a map needs
	}
	p, c := parse(part), parse(tr.converted)
	defer p.Release()
	defer c.Release()
	d := outside(p.withoutKept(false), p.root, c.withoutKept(true), c.root, nil)
	if d == nil {
		return true, nil
	}
	found := tr.counterexample("Of this incomplete object, as server-side apply converts it, %s is %s in %s. Of the whole object %s it is %s.",
		named(d.path), state(d.is), t.to.Name, shorten(string(tr.object), maxShownObject), state(d.to))
	found.Object, found.Converted, found.Back = text, part, nil
	return true, found
}

// identified reports whether an object has what server-side apply needs.
func identified(o tree) bool {
	return o.Field(o.root, "apiVersion") != 0 && o.Field(o.root, "kind") != 0 && o.Field(o.Field(o.root, "metadata"), "name") != 0
}

// outside returns the first value of a that is not part of b, or nil. The elements of a list are part of those of a
// longer list with the same order.
func outside(a tree, i uint32, b tree, j uint32, at value.Path) *difference {
	m, n := &a.Nodes[i], &b.Nodes[j]
	switch {
	case m.Kind == value.Object && n.Kind == value.Object:
		for c := m.First; c != 0; c = a.Nodes[c].Next {
			step := at.With(value.Name(a.Key(c)))
			e := b.Field(j, a.Key(c))
			if e == 0 {
				return &difference{step.Detach(), shown(a, c), ""}
			}
			if found := outside(a, c, b, e, step); found != nil {
				return found
			}
		}
		return nil
	case m.Kind == value.Array && n.Kind == value.Array:
		e, k := n.First, 0
		var first *difference
		for c := m.First; c != 0; c, k = a.Nodes[c].Next, k+1 {
			first = nil
			for ; e != 0; e = b.Nodes[e].Next {
				found := outside(a, c, b, e, at.With(value.At(k)))
				if found == nil {
					break
				}
				if first == nil {
					first = found
				}
			}
			if e == 0 {
				if first == nil {
					first = &difference{at.With(value.At(k)).Detach(), shown(a, c), ""}
				}
				return first
			}
			e = b.Nodes[e].Next
		}
		return nil
	case value.Equal(a.Doc, i, b.Doc, j):
		return nil
	}
	return &difference{at.Detach(), shown(a, i), shown(b, j)}
}
