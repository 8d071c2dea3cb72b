package laws

import (
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// locality compares the conversion of a part with that of the object.
func (t *tester) locality(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil || tr.part == nil {
		return false, nil
	}
	text := tr.part.JSON()
	a, o := parse(text), parse(tr.object)
	defer a.Release()
	defer o.Release()
	if a.Field(a.root, "apiVersion") == 0 || a.Field(a.root, "kind") == 0 || outside(a, a.root, o, o.root, nil, false) != nil {
		return false, nil // after shrinking
	}
	broken := func(part []byte, what string) *Counterexample {
		return &Counterexample{Object: text, Converted: part, Text: "This is a partial object, as server-side apply converts it. " + what +
			" The whole object is " + violation.Shorten(string(tr.object), maxShownObject) + "."}
	}
	part, err := t.convertPart(text, t.from, t.to, false)
	if err != nil {
		return true, broken(nil, "It is not converted to "+t.to.Name+", but the whole object is: "+err.Error()+".")
	}
	p, c := parse(part), parse(tr.converted)
	defer p.Release()
	defer c.Release()
	if d := outside(p.withoutKept(false), p.root, c.withoutKept(true), c.root, nil, true); d != nil {
		return true, broken(part, named(d.path)+" of its conversion to "+t.to.Name+" is "+state(d.is)+
			". Of the conversion of the whole object it is "+state(d.to)+".")
	}
	return true, nil
}

// outside returns the first value of a that is not part of b, or nil. A list is part of a longer list that has the
// same elements in the same order. null is part of any value. If emptied is set, objects without values are part of
// any value, even if it is absent.
func outside(a tree, i uint32, b tree, j uint32, at value.Path, emptied bool) *difference {
	m, n := &a.Nodes[i], &b.Nodes[j]
	switch {
	case m.Kind == value.Object && n.Kind == value.Object:
		for c := m.First; c != 0; c = a.Nodes[c].Next {
			step := at.With(value.Name(a.Key(c)))
			e := b.Field(j, a.Key(c))
			if e == 0 && emptied && hollow(a, c) {
				continue
			}
			if e == 0 {
				return &difference{step.Detach(), shown(a, c), ""}
			}
			if found := outside(a, c, b, e, step, emptied); found != nil {
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
				found := outside(a, c, b, e, at.With(value.At(k)), emptied)
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
	case m.Kind == value.Null, emptied && hollow(a, i), value.Equal(a.Doc, i, b.Doc, j):
		return nil
	}
	return &difference{at.Detach(), shown(a, i), shown(b, j)}
}

// hollow reports whether a value is null, or an object that contains only hollow values.
func hollow(t tree, i uint32) bool {
	if t.Nodes[i].Kind != value.Object {
		return t.Nodes[i].Kind == value.Null
	}
	for c := t.Nodes[i].First; c != 0; c = t.Nodes[c].Next {
		if !hollow(t, c) {
			return false
		}
	}
	return true
}
