package laws

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// mostChanges bounds the attempts to find a valid change of an object.
const mostChanges = 4

// validChange returns a change that leaves the converted object valid, or nil.
func (t *tester) validChange(r sample.Random, tr *trial) *sample.Change {
	if tr.failed != nil {
		return nil
	}
	converted, err := sample.Parse(tr.converted)
	if err != nil {
		return nil
	}
	for range mostChanges {
		c := t.to.Generator.Edit(r, converted)
		if c == nil {
			return nil
		}
		if t.edited(tr, c) != nil {
			return c
		}
	}
	return nil
}

// edited returns the converted object after a change, with defaults. It returns nil if the object is not valid.
func (t *tester) edited(tr *trial, c *sample.Change) []byte {
	o, err := sample.Parse(tr.converted)
	if err != nil || !c.Apply(o) {
		return nil
	}
	v, err := t.to.Judge(t.ctx, o.JSON())
	if err != nil || v.Text != "" {
		return nil
	}
	return v.Object
}

// edit compares three conversions back: of the changed object, of the changed object without annotations of
// conversions, and of the unchanged object. Values that only the first one has come from the annotations.
func (t *tester) edit(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil || tr.returned != nil || tr.change == nil {
		return false, nil
	}
	changed := t.edited(tr, tr.change)
	if changed == nil {
		return false, nil
	}
	plain, err := t.withoutKept(changed)
	if err != nil {
		return false, nil // the rules do not convert the change
	}
	broken := func(format string, args ...any) *Counterexample {
		return &Counterexample{Object: tr.object, Converted: changed,
			Text: t.describe(tr) + fmt.Sprintf(" After the conversion to %s, ", t.from.Name) + fmt.Sprintf(format, args...)}
	}
	back, err := t.convert(changed, t.to, t.from)
	if err != nil {
		c := broken("there is no object: %v.", err)
		c.Text += " Without the annotations of the conversion there is one."
		return true, c
	}
	c := t.checkKept(tr, back, plain, broken)
	if c != nil {
		c.Back = back
	}
	return true, c
}

// withoutKept converts an object back without the annotations of conversions.
func (t *tester) withoutKept(object []byte) ([]byte, error) {
	o := parse(object)
	defer o.Release()
	return t.convert(o.withoutKept(false).AppendJSON(nil, o.root), t.to, t.from)
}

// describe returns a sentence about the change of a trial.
func (t *tester) describe(tr *trial) string {
	c := tr.change
	if c.Value == nil {
		return fmt.Sprintf("A client of %s removes %s.", t.to.Name, named(c.Path))
	}
	v := parse(c.Value.JSON())
	defer v.Release()
	return fmt.Sprintf("A client of %s sets %s to %s.", t.to.Name, named(c.Path), shown(v, v.root))
}

// checkKept compares the conversion back of a changed object with that without annotations.
func (t *tester) checkKept(tr *trial, back, plain []byte, broken func(string, ...any) *Counterexample) *Counterexample {
	unchanged, err := t.withoutKept(tr.converted)
	if err != nil {
		return nil
	}
	a, b, p, q := parse(tr.back), parse(unchanged), parse(back), parse(plain)
	defer a.Release()
	defer b.Release()
	defer p.Release()
	defer q.Release()
	kept := &additions{tester: t}
	kept.compare(b.without("metadata"), b.root, a.without("metadata"), a.root, nil, "")
	now := &additions{tester: t}
	if d := now.compare(q.without("metadata"), q.root, p.without("metadata"), p.root, nil, ""); d != nil {
		return broken("%s is %s, because of the annotation. Without the annotation it is %s.", named(d.path), state(d.to), state(d.is))
	}
	for _, n := range now.list {
		if !kept.allows(a, p, n) && !t.standsAlone(tr, p, n) {
			return broken("%s is %s, because of the annotation. The change has removed it.", named(n.path), shown(p, n.node))
		}
	}
	for _, k := range kept.list {
		if d := t.lost(a, k.node, q, p, k.path, k.id); d != nil {
			return broken("%s is absent. It was %s, and the change does not concern it.", named(d.path), state(d.is))
		}
	}
	return nil
}

// additions are the values that one object has and another lacks.
type additions struct {
	*tester
	list []addition
}

// addition is a value that one object has and another lacks.
type addition struct {
	path tree.Path
	// id is the path with the keys of items instead of their indexes. Each step begins with separator.
	id   string
	node uint32
}

// A step of an id is the name of a member, or after item the keys of an element, "" for an element without keys.
const (
	separator = "\x00"
	item      = "\x01"
)

// compare collects the values of b that a lacks. It returns the first value of a that is absent or different in b.
func (x *additions) compare(a objectTree, i uint32, b objectTree, j uint32, at tree.Path, id string) *difference {
	m, n := &a.Nodes[i], &b.Nodes[j]
	switch {
	case m.Kind == tree.Object && n.Kind == tree.Object:
		for c := m.First; c != 0; c = a.Nodes[c].Next {
			name := strings.Clone(a.Key(c))
			e := b.Field(j, name)
			if e == 0 {
				return &difference{at.With(tree.Name(name)), shown(a, c), ""}
			}
			if d := x.compare(a, c, b, e, at.With(tree.Name(name)), id+separator+name); d != nil {
				return d
			}
		}
		for e := n.First; e != 0; e = b.Nodes[e].Next {
			if name := strings.Clone(b.Key(e)); a.Field(i, name) == 0 {
				x.list = append(x.list, addition{at.With(tree.Name(name)), id + separator + name, e})
			}
		}
		return nil
	case m.Kind == tree.Array && n.Kind == tree.Array && m.Live == n.Live:
		keys := x.from.Generator.ListKeys(at)
		c, e, k := m.First, n.First, 0
		for ; c != 0; c, e, k = a.Nodes[c].Next, b.Nodes[e].Next, k+1 {
			if d := x.compare(a, c, b, e, at.With(tree.At(k)), id+separator+item+identity(a, c, keys)); d != nil {
				return d
			}
		}
		return nil
	}
	return differs(a, i, b, j, at)
}

// identity returns the keys of an element of a list.
func identity(t objectTree, i uint32, keys []string) string {
	var text []byte
	for _, name := range keys {
		if c := t.Field(i, name); c != 0 {
			text = t.AppendJSON(text, c)
		}
		text = append(text, ',')
	}
	return string(text)
}

// allows reports whether an addition n in p is one of x, or is below one. The values of x are in a.
func (x *additions) allows(a, p objectTree, n addition) bool {
	for _, k := range x.list {
		rest, below := strings.CutPrefix(n.id, k.id)
		if !below || rest != "" && !strings.HasPrefix(rest, separator) {
			continue
		}
		i := k.node
		for _, name := range strings.Split(rest, separator)[1:] {
			if strings.HasPrefix(name, item) {
				return true // within a value that is kept as a whole
			}
			i = a.Field(i, name)
		}
		if i != 0 && differs(a, i, p, n.node, nil) == nil {
			return true
		}
	}
	return false
}

// standsAlone reports whether an added value depends on annotations even without a change: an object that has nothing
// else at this path loses the path without them. The other version then has no field that a client could remove.
func (t *tester) standsAlone(tr *trial, p objectTree, n addition) bool {
	o := parse(tr.object)
	defer o.Release()
	steps := strings.Split(n.id, separator)[1:]
	if unkeyed(steps) {
		return true // it cannot be found in another object
	}
	i, path := t.find(o, steps)
	if i == 0 {
		return false
	}
	v, err := o.Parse(p.AppendJSON(nil, n.node), tree.Arena, tree.Limits{})
	if err != nil {
		return false
	}
	finder := o.Finder()
	for k := range path {
		above, _ := finder.Deepest(o.root, path[:k])
		o.MarkDirty(above)
	}
	o.Replace(i, v)
	converted, err := t.convert(o.AppendJSON(nil, o.root), t.from, t.to)
	if err != nil {
		return false
	}
	whole, err := t.convert(converted, t.to, t.from)
	if err != nil {
		return false
	}
	plain, err := t.withoutKept(converted)
	return err == nil && t.has(whole, n.id) && !t.has(plain, n.id)
}

// has reports whether an object has a value at the end of an id.
func (t *tester) has(object []byte, id string) bool {
	o := parse(object)
	defer o.Release()
	i, _ := t.find(o, strings.Split(id, separator)[1:])
	return i != 0
}

// lost returns a stashed value that is not restored: p lacks it, although its parent exists in q, the object without
// the annotation. i is the stashed value in a.
func (t *tester) lost(a objectTree, i uint32, q, p objectTree, path tree.Path, id string) *difference {
	steps := strings.Split(id, separator)[1:]
	last := len(steps) - 1
	if unkeyed(steps) || strings.HasPrefix(steps[last], item) {
		return nil // within a list without keys
	}
	parent, _ := t.find(q, steps[:last])
	if q.Nodes[parent].Kind != tree.Object {
		return nil
	}
	now := q.Field(parent, steps[last])
	switch {
	case now == 0:
		if above, _ := t.find(p, steps[:last]); above == 0 || p.Field(above, steps[last]) == 0 {
			return &difference{path, shown(a, i), ""}
		}
	case q.Nodes[now].Kind == tree.Object && a.Nodes[i].Kind == tree.Object:
		for c := a.Nodes[i].First; c != 0; c = a.Nodes[c].Next {
			name := strings.Clone(a.Key(c))
			if d := t.lost(a, c, q, p, path.With(tree.Name(name)), id+separator+name); d != nil {
				return d
			}
		}
	}
	return nil
}

// unkeyed reports whether the steps include an element without keys.
func unkeyed(steps []string) bool { return slices.Contains(steps, item) }

// find returns the node at the end of the steps of an id, and its path. The node is 0 if it does not exist.
func (t *tester) find(o objectTree, steps []string) (i uint32, path tree.Path) {
	i = o.root
	for _, s := range steps {
		keys, isItem := strings.CutPrefix(s, item)
		if !isItem {
			path = append(path, tree.Name(s))
			if i = o.Field(i, s); i == 0 {
				return 0, nil
			}
			continue
		}
		names := t.from.Generator.ListKeys(path)
		if o.Nodes[i].Kind != tree.Array || len(names) == 0 {
			return 0, nil
		}
		c, k := o.Nodes[i].First, 0
		for ; c != 0 && identity(o, c, names) != keys; k++ {
			c = o.Nodes[c].Next
		}
		if i = c; i == 0 {
			return 0, nil
		}
		path = append(path, tree.At(k))
	}
	return i, path
}
