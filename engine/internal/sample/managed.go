package sample

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Managed returns an object as API servers store it, with managers of its fields in metadata.managedFields, and the part
// of it that an API server converts if a manager applies again without its fields: without the fields that only this
// manager has, and with the same metadata. Another manager has all other fields, or no manager has them. In a quarter of
// the cases the part is the whole object. The choices for a field depend only on its path and on the seed.
func (g *Generator) Managed(seed uint64, o *Tree) (whole, part *Tree) {
	r := NewRandom(seed, 0)
	s := splitter{seed: seed, percent: pick(r, []int{0, 20, 50, 80})}
	gone, left := object(), object()
	whole, part = o.Clone(), object()
	for _, m := range o.Items {
		if isHead(m.Key) {
			part.set(m.Key, m.Clone())
			continue
		}
		below := s.split(g.root.member(m.Key), m, seed)
		below.addTo(m.Key, part, gone, left)
	}
	entries := array()
	if len(gone.Items) > 0 {
		entries.Items = append(entries.Items, entry(g.options.APIVersion, gone))
	}
	if len(entries.Items) == 0 || len(left.Items) > 0 && r.chance(70) {
		entries.Items = append(entries.Items, entry(g.options.APIVersion, left))
	}
	for _, t := range []*Tree{whole, part} {
		meta := t.Get("metadata")
		if meta == nil {
			meta = object()
			t.set("metadata", meta)
		}
		meta.set("managedFields", entries.Clone())
	}
	return whole, part
}

// Partial returns a part of an object like that of Managed, but without managedFields, and without other parts of the
// metadata or all of it.
func (g *Generator) Partial(seed uint64, o *Tree) *Tree {
	_, p := g.Managed(seed, o)
	r := NewRandom(seed, 1)
	meta := p.Get("metadata")
	meta.Items = slices.DeleteFunc(meta.Items, func(m *Tree) bool { return m.Key == "managedFields" || r.chance(30) })
	if r.chance(30) {
		p = p.Without("metadata")
	}
	return p
}

// entry returns an entry of managedFields, with what a conversion may read.
func entry(apiVersion string, fields *Tree) *Tree {
	return object().with("apiVersion", text(apiVersion)).with("fieldsV1", fields)
}

// splitter divides values between two managers, one of which gives up its fields.
type splitter struct {
	seed    uint64
	percent int // of the fields are given up
}

// halves are what is left of a value, nil for nothing, and the entries of the two managers for it, nil for none.
type halves struct{ part, gone, left *Tree }

// addTo adds halves as a member of the halves of an object.
func (h halves) addTo(name string, part, gone, left *Tree) {
	if h.part != nil {
		part.set(name, h.part)
	}
	h.record("f:"+name, gone, left)
}

// record adds the entries under a key.
func (h halves) record(key string, gone, left *Tree) {
	if h.gone != nil {
		gone.set(key, h.gone)
	}
	if h.left != nil {
		left.set(key, h.left)
	}
}

// split divides a value. n may be nil. path is a hash of its path.
func (s *splitter) split(n *node, t *Tree, path uint64) halves {
	r := NewRandom(s.seed, path)
	switch {
	case len(t.Items) == 0 || n == nil:
	case t.Kind == tree.Object && (n.XMapType == nil || *n.XMapType != "atomic") && !n.open():
		h := halves{object(), object(), object()}
		for _, m := range t.Items {
			s.split(n.member(m.Key), m, hashed(path, m.Key)).addTo(m.Key, h.part, h.gone, h.left)
		}
		return h.trimmed(r)
	case n.isMapList() || n.isSet():
		h := halves{array(), object(), object()}
		for _, e := range t.Items {
			s.element(n, e, path, h)
		}
		return h.trimmed(r)
	}
	if r.chance(s.percent) {
		return halves{nil, object(), nil}
	}
	return halves{t.Clone(), nil, object()}
}

// element divides an element of a set or of a list of type map, and adds what is left to the halves of the list.
func (s *splitter) element(n *node, e *Tree, path uint64, h halves) {
	keys := object()
	if n.isMapList() && e.Kind == tree.Object {
		for _, name := range slices.Sorted(slices.Values(n.XListMapKeys)) {
			if key := e.Get(name); key != nil {
				keys.set(name, key.Clone())
			}
		}
	}
	if path = hashed(path, string(keys.JSON())); !n.isMapList() {
		path = hashed(path, string(e.JSON()))
	}
	r := NewRandom(s.seed, path)
	switch {
	case !n.isMapList():
		below := s.split(nil, e, path)
		below.record("v:"+string(e.JSON()), h.gone, h.left)
		if below.part != nil {
			h.part.Items = append(h.part.Items, below.part)
		}
	case r.chance(s.percent / 2): // the whole element
		all := (&splitter{s.seed, 100}).split(n.element(), e, path)
		h.gone.set("k:"+string(keys.JSON()), all.gone)
	default: // both managers have its keys
		below := halves{object(), object().with(".", object()), object().with(".", object())}
		for _, m := range e.Items {
			if slices.Contains(n.XListMapKeys, m.Key) {
				halves{m.Clone(), object(), object()}.addTo(m.Key, below.part, below.gone, below.left)
				continue
			}
			s.split(n.element().member(m.Key), m, hashed(path, m.Key)).addTo(m.Key, below.part, below.gone, below.left)
		}
		below.record("k:"+string(keys.JSON()), h.gone, h.left)
		h.part.Items = append(h.part.Items, below.part)
	}
}

// trimmed returns the halves of a container without those that are empty. A container that has lost all of its values is
// absent, empty or null.
func (h halves) trimmed(r Random) halves {
	if len(h.gone.Items) == 0 {
		h.gone = nil
	}
	if len(h.left.Items) == 0 {
		h.left = nil
	}
	if len(h.part.Items) == 0 {
		h.part = pick(r, []*Tree{nil, nil, h.part, null()})
	}
	return h
}

// hashed adds a step to the hash of a path (FNV-1a).
func hashed(path uint64, step string) uint64 {
	for i := range len(step) {
		path = (path ^ uint64(step[i])) * 1099511628211
	}
	return (path ^ '/') * 1099511628211
}
