package sample

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Fault is a reason why an object is invalid.
type Fault struct {
	// Path leads to the wrong or missing value.
	Path tree.Path
	// Rule is the CEL rule that does not hold, "" for other faults.
	Rule string
	// Text describes it for people. It may be "".
	Text string
}

// Repair changes an object at a fault, so that the fault may be gone.
func (g *Generator) Repair(r Random, o *Tree, f Fault) {
	g.density, g.left = pick(r, densities[:3]), 300
	if f.Rule != "" {
		if g.solver != nil && r.chance(90) && g.solver.Solve(r, o, f.Path, f.Rule, true) || g.repairRule(r, o, f) {
			return
		}
	}
	path := f.Path
	for len(path) > 0 && o.Follow(path[:len(path)-1]) == nil {
		path = path[:len(path)-1]
	}
	for len(path) > 1 && r.chance(20) {
		path = path[:len(path)-1]
	}
	if len(path) > 0 && path[0].Key() != "apiVersion" && path[0].Key() != "kind" {
		g.change(r, o, path, 40)
	}
}

// Violate changes an object so that a rule of the value at a path may be violated.
func (g *Generator) Violate(r Random, o *Tree, path tree.Path, rule string) {
	if g.Plant(r, o, path) && g.solver != nil {
		g.solver.Solve(r, o, path, rule, false)
	}
}

// change replaces the value at the end of a path, adds it if it is absent, or removes it in the given percentage of
// cases if it is not required.
func (g *Generator) change(r Random, o *Tree, path tree.Path, removing int) {
	parent, n := o.Follow(path[:len(path)-1]), g.schemaAt(r, path[:len(path)-1])
	last := path[len(path)-1]
	if parent == nil || n == nil {
		return
	}
	if len(path) == 1 && last.Key() == "metadata" {
		o.set("metadata", g.metadata(r))
		return
	}
	i := parent.child(last)
	switch s := n.at(last); {
	case i >= 0 && r.chance(removing) && removable(n, parent, last):
		parent.remove(i)
	case s == nil && path[0].Key() != "metadata" && i >= 0 && n.open():
		parent.Items[i] = g.free(r, 1).named(parent.Items[i].Key)
	case s == nil && i >= 0:
		parent.remove(i)
	case s == nil:
	case i >= 0:
		parent.Items[i] = g.value(r, s, len(path)).named(parent.Items[i].Key)
	case !last.IsIndex() && parent.Kind == tree.Object:
		parent.set(last.Key(), g.value(r, s, len(path)))
	}
}

// removable reports whether a schema allows an object without a member, or a list without an element.
func removable(n *node, parent *Tree, s tree.Segment) bool {
	if s.IsIndex() {
		return n.MinItems == nil || int64(len(parent.Items)) > *n.MinItems
	}
	return !slices.Contains(n.Required, s.Key()) && (n.MinProperties == nil || int64(len(parent.Items)) > *n.MinProperties)
}

// schemaAt returns the schema at the end of a path, with random choices of clauses, or nil.
func (g *Generator) schemaAt(r Random, path tree.Path) *node {
	n := g.root.choose(r)
	for _, s := range path {
		if n = n.at(s); n == nil {
			return nil
		}
		n = n.choose(r)
	}
	return n
}

// repairRule changes one of the fields that a rule mentions. It returns false without a change.
func (g *Generator) repairRule(r Random, o *Tree, f Fault) bool {
	below := o.Follow(f.Path)
	if below == nil {
		return false
	}
	var found []tree.Path
	mentioned(g.schemaAt(r, f.Path), below, f.Path, g.root.scope.hint(f.Rule).names, 0, &found)
	if len(found) == 0 || r.chance(10) {
		return false
	}
	g.change(r, o, pick(r, found), 50)
	return true
}

// mentioned collects the paths below a value whose last name is one of the names: members, and properties that are
// absent.
func mentioned(n *node, t *Tree, at tree.Path, names []string, depth int, found *[]tree.Path) {
	if n == nil || depth > 5 || len(*found) > 64 {
		return
	}
	for i, m := range t.Items {
		step := tree.Name(m.Key)
		if t.Kind == tree.Array {
			step = tree.At(i)
		} else if slices.Contains(names, m.Key) {
			*found = append(*found, at.With(step))
		}
		mentioned(n.at(step), m, at.With(step), names, depth+1, found)
	}
	if t.Kind != tree.Object || schema.Preserves(n.Props) && len(n.names) == 0 {
		return
	}
	for _, name := range names {
		if _, declared := n.Properties[name]; declared && t.index(name) < 0 {
			*found = append(*found, at.With(tree.Name(name)))
		}
	}
}
