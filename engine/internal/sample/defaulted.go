package sample

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

// Defaulted returns the paths of the members of an object that have a default in one of the schemas of the object,
// those below such a member first.
func Defaulted(o *Tree, schemas ...*schema.Props) (paths []value.Path) {
	var visit func(t *Tree, list []*schema.Props, at value.Path)
	visit = func(t *Tree, list []*schema.Props, at value.Path) {
		for i, m := range t.Items {
			step, hasDefault := value.At(i), false
			var below []*schema.Props
			for _, s := range list {
				if t.Kind == value.Array {
					below = append(below, schema.Items(s))
					continue
				}
				step = value.Name(m.Key)
				if p, declared := s.Properties[m.Key]; declared {
					hasDefault = hasDefault || schema.HasValue(p.Default)
					below = append(below, &p)
				} else {
					below = append(below, schema.ValueSchema(s))
				}
			}
			path := at.With(step)
			visit(m, slices.DeleteFunc(below, func(s *schema.Props) bool { return s == nil }), path)
			if hasDefault && (len(at) > 0 || !isHead(m.Key)) {
				paths = append(paths, path)
			}
		}
	}
	visit(o, slices.DeleteFunc(schemas, func(s *schema.Props) bool { return s == nil }), nil)
	return paths
}

// WithoutPaths returns a copy of an object without the values at some paths. A path comes after those below it.
func (t *Tree) WithoutPaths(paths ...value.Path) *Tree {
	c := t.Clone()
	for _, path := range paths {
		(&Change{Path: path}).Apply(c)
	}
	return c
}
