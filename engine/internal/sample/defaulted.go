package sample

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Defaulted returns the paths of the members of an object that have a default in one of the schemas of the object,
// those below such a member first.
func Defaulted(o *Tree, schemas ...*schema.Props) (paths []tree.Path) {
	visit(o, schemas, nil, func(_ *Tree, list []*schema.Props, at tree.Path) {
		if len(at) == 0 || len(at) == 1 && isHead(at[0].Key()) {
			return
		}
		if slices.ContainsFunc(list, func(s *schema.Props) bool { return schema.HasValue(s.Default) }) {
			paths = append(paths, at)
		}
	})
	return paths
}

// visit calls f for each value of an object with the schemas of the value, and first for those below it.
func visit(t *Tree, schemas []*schema.Props, at tree.Path, f func(*Tree, []*schema.Props, tree.Path)) {
	schemas = slices.DeleteFunc(slices.Clone(schemas), func(s *schema.Props) bool { return s == nil })
	for i, m := range t.Items {
		step := tree.Name(m.Key)
		if t.Kind == tree.Array {
			step = tree.At(i)
		}
		below := make([]*schema.Props, len(schemas))
		for k, s := range schemas {
			below[k] = schemaBelow(s, step)
		}
		visit(m, below, at.With(step), f)
	}
	f(t, schemas, at)
}

// schemaBelow returns the schema of a member or an element, or nil.
func schemaBelow(s *schema.Props, step tree.Segment) *schema.Props {
	if step.IsIndex() {
		return schema.Items(s)
	}
	if p, declared := s.Properties[step.Key()]; declared {
		return &p
	}
	return schema.ValueSchema(s)
}

// Twins returns copies of an object. In each of them, a list begins with two elements that differ only in defaults. The
// first one lacks the values that have a default in one of the schemas of the object. The second one has the defaults of
// one of the schemas.
func Twins(o *Tree, schemas ...*schema.Props) (all []*Tree) {
	visit(o, schemas, nil, func(t *Tree, list []*schema.Props, at tree.Path) {
		if t.Kind != tree.Array || len(t.Items) == 0 {
			return
		}
		first := at.With(tree.At(0))
		without := o.WithoutPaths(slices.DeleteFunc(Defaulted(o, schemas...), func(p tree.Path) bool {
			return len(p) <= len(first) || p[:len(first)].Pointer() != first.Pointer()
		})...).Follow(first)
		for _, s := range list {
			twin := without.Clone()
			setDefaults(twin, schema.Items(s))
			if string(twin.JSON()) == string(without.JSON()) {
				continue
			}
			c := o.Clone()
			elements := c.Follow(at)
			elements.Items = append([]*Tree{without, twin}, elements.Items[min(len(elements.Items), 2):]...)
			all = append(all, c)
		}
	})
	return all
}

// WithDefaults returns a copy of an object with the defaults of a schema.
func (t *Tree) WithDefaults(s *schema.Props) *Tree {
	c := t.Clone()
	setDefaults(c, s)
	return c
}

// setDefaults adds the missing values that have a default in a schema, which may be nil.
func setDefaults(t *Tree, s *schema.Props) {
	if s == nil {
		return
	}
	for _, name := range schema.Names(s.Properties) {
		if p := s.Properties[name]; t.Kind == tree.Object && t.index(name) < 0 && schema.HasValue(p.Default) {
			if v := parsed(p.Default.Raw); v != nil {
				t.set(name, v)
			}
		}
	}
	for i, m := range t.Items {
		step := tree.Name(m.Key)
		if t.Kind == tree.Array {
			step = tree.At(i)
		}
		setDefaults(m, schemaBelow(s, step))
	}
}

// WithoutPaths returns a copy of an object without the values at some paths. A path comes after those below it.
func (t *Tree) WithoutPaths(paths ...tree.Path) *Tree {
	c := t.Clone()
	for _, path := range paths {
		(&Change{Path: path}).Apply(c)
	}
	return c
}
