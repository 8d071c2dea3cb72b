package laws

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// locality compares the conversions of two parts with that of the object: of one without managedFields and of one with
// them. It also checks that a whole object with managedFields does not pass for a part.
func (t *tester) locality(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil || tr.part == nil {
		return false, nil
	}
	if !tr.hasPart() {
		return false, nil // after shrinking
	}
	if c := t.localPart(tr, tr.part.JSON(), tr.object); c != nil {
		return true, c
	}
	whole, part := t.managed(tr)
	converted, err := t.convert(whole, t.from, t.to)
	if err != nil {
		return true, nil
	}
	if c := t.localPart(tr, part, whole); c != nil {
		return true, c
	}
	now, err := t.convertPart(whole, t.from, t.to, false)
	if err == nil && bytes.Equal(now, converted) {
		return true, nil
	}
	c := &Counterexample{Object: whole, Converted: now, Text: "Managers have all fields of this object. "}
	if err != nil {
		c.Text += "The webhook does not convert it to " + t.to.Name + ", but a call of the service does: " + err.Error() + "."
		return true, c
	}
	c.Text += "The webhook converts it to another object than a call of the service does, which returns " +
		violation.Shorten(string(converted), maxShownObject) + "."
	return true, c
}

// hasPart reports whether the part of a trial is one of its object.
func (tr *trial) hasPart() bool {
	a, o := parse(tr.part.JSON()), parse(tr.object)
	defer a.Release()
	defer o.Release()
	return a.Field(a.root, "apiVersion") != 0 && a.Field(a.root, "kind") != 0 && outside(a, a.root, o, o.root, nil, false) == nil
}

// managed returns the object of a trial with managers, and a part of it.
func (t *tester) managed(tr *trial) (whole, part []byte) {
	o, err := sample.Parse(tr.object)
	if err != nil {
		return tr.object, tr.object
	}
	w, p := t.from.Generator.Managed(tr.managers, o)
	return w.JSON(), p.JSON()
}

// localPart compares the conversion of a part with that of the object.
func (t *tester) localPart(tr *trial, text, whole []byte) *Counterexample {
	broken := func(part []byte, what string) *Counterexample {
		return &Counterexample{Object: text, Converted: part, Text: partial + what +
			" The whole object is " + violation.Shorten(string(whole), maxShownObject) + "."}
	}
	part, err := t.convertPart(text, t.from, t.to, false)
	if err != nil {
		return broken(nil, "It is not converted to "+t.to.Name+", but the whole object is: "+err.Error()+".")
	}
	p, c := parse(part), parse(tr.converted)
	defer p.Release()
	defer c.Release()
	p.withoutKept(false).removeManagers()
	c.withoutKept(true).removeManagers()
	if d := outside(p, p.root, c, c.root, nil, true); d != nil {
		return broken(part, named(d.path)+" of its conversion to "+t.to.Name+" is "+state(d.is)+
			". Of the conversion of the whole object it is "+state(d.to)+".")
	}
	return nil
}

// partial begins the texts about partial objects.
const partial = "This is a partial object, as server-side apply converts it. "

// removeManagers removes managedFields.
func (t objectTree) removeManagers() { t.remove(t.Field(t.root, "metadata"), "managedFields") }

// partialTrip checks the round trip of a part: it returns nothing that the whole object lacks then, and everything that
// is not lost by design. text is the part.
func (t *tester) partialTrip(tr *trial, text []byte) *Counterexample {
	converted, err := t.convertPart(text, t.from, t.to, false)
	if err != nil {
		return nil // breaks another law
	}
	c := &Counterexample{Object: text, Converted: converted}
	if c.Back, err = t.convertPart(converted, t.to, t.from, false); err != nil {
		c.Text = fmt.Sprintf("%sIt is converted to %s, but not back: %v.", partial, t.to.Name, err)
		return c
	}
	before := text
	if t.via != "" {
		if before, err = t.throughHub(text, false); err != nil {
			return nil
		}
	}
	p, b, o := parse(before), parse(c.Back), parse(tr.back)
	defer p.Release()
	defer b.Release()
	defer o.Release()
	metadata := p.Nodes[p.Field(p.root, "metadata")].Kind
	if d := outside(b.without("metadata"), b.root, o.without("metadata"), o.root, nil, true); d != nil {
		c.Text = fmt.Sprintf("%sAfter the conversion to %s and back, %s is %s. Of the whole object it is %s.",
			partial, t.to.Name, named(d.path), state(d.is), state(d.to))
		return c
	}
	if metadata != tree.Object {
		return nil // nothing is kept in an annotation
	}
	for _, o := range [...]objectTree{p, b} {
		t.converter.Normalize(o.Doc, o.root, t.from.Name, cmp.Or(t.via, t.to.Name), false)
	}
	if d := outside(p.without("metadata"), p.root, b, b.root, nil, true); d != nil {
		c.Text = fmt.Sprintf("%sAfter the conversion to %s and back, %s is %s. Before it was %s.",
			partial, t.to.Name, named(d.path), state(d.to), state(d.is))
		return c
	}
	return nil
}

// outside returns the first value of a that is not part of b, or nil. A list is part of a longer list that has the
// same elements in the same order. null is part of any value. If emptied is set, objects without values are part of
// any value, even if it is absent.
func outside(a objectTree, i uint32, b objectTree, j uint32, at tree.Path, emptied bool) *difference {
	m, n := &a.Nodes[i], &b.Nodes[j]
	switch {
	case m.Kind == tree.Object && n.Kind == tree.Object:
		for c := m.First; c != 0; c = a.Nodes[c].Next {
			step := at.With(tree.Name(a.Key(c)))
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
	case m.Kind == tree.Array && n.Kind == tree.Array:
		e, k := n.First, 0
		var first *difference
		for c := m.First; c != 0; c, k = a.Nodes[c].Next, k+1 {
			first = nil
			for ; e != 0; e = b.Nodes[e].Next {
				found := outside(a, c, b, e, at.With(tree.At(k)), emptied)
				if found == nil {
					break
				}
				if first == nil {
					first = found
				}
			}
			if e == 0 {
				if first == nil {
					first = &difference{at.With(tree.At(k)).Detach(), shown(a, c), ""}
				}
				return first
			}
			e = b.Nodes[e].Next
		}
		return nil
	case m.Kind == tree.Null, emptied && hollow(a, i), differs(a, i, b, j, nil) == nil:
		return nil
	}
	return &difference{at.Detach(), shown(a, i), shown(b, j)}
}

// hollow reports whether a value is null, or an object that contains only hollow values.
func hollow(t objectTree, i uint32) bool {
	if t.Nodes[i].Kind != tree.Object {
		return t.Nodes[i].Kind == tree.Null
	}
	for c := t.Nodes[i].First; c != 0; c = t.Nodes[c].Next {
		if !hollow(t, c) {
			return false
		}
	}
	return true
}
