package plan

import (
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/value"
)

// CleanRules reports whether all rules hold for an accepted object, within the budget and without errors. It charges
// the run. False means doubt: Rules decides with a new run. pairs and old are nil and 0 for a creation. It does not
// allocate.
func (p *Plan) CleanRules(r *rule.Run, root, old uint32, pairs *Pairs) bool {
	if !p.HasRules() {
		return true
	}
	w := cleanWalk{d: r.Doc, run: r, pairs: pairs}
	return w.node(p.Root, root, old)
}

type cleanWalk struct {
	d     *value.Doc
	run   *rule.Run
	pairs *Pairs
	work  int
}

func (w *cleanWalk) node(n *Node, i, old uint32) bool {
	if n.Rules != nil && !n.Rules.Holds(w.run, i, old) {
		return false
	}
	if w.work++; w.work%pollEvery == 0 && w.run.Stopped() {
		return false
	}
	switch w.d.Nodes[i].Kind {
	case value.Object:
		return w.members(n, i, old)
	case value.Array:
		return w.elements(n, i, old)
	}
	return true
}

func (w *cleanWalk) members(n *Node, i, old uint32) bool {
	d := w.d
	if a := n.Additional; a != nil && a.Flags&RulesBelow != 0 {
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			if !w.node(a, c, w.before(old, d.Key(c))) {
				return false
			}
		}
	}
	if len(n.Names) == 0 {
		return true
	}
	slotted := d.Nodes[i].Flags&value.Slotted != 0
	for s, child := range n.Props {
		if child.Flags&RulesBelow == 0 {
			continue
		}
		var c uint32
		if slotted {
			c = d.Slots[d.Nodes[i].Val+uint64(s)]
		} else {
			c = d.Field(i, n.Names[s])
		}
		if c != 0 && !w.node(child, c, w.before(old, n.Names[s])) {
			return false
		}
	}
	return true
}

// before returns the old value of a member.
func (w *cleanWalk) before(old uint32, name string) uint32 {
	if old == 0 {
		return 0
	}
	return w.pairs.Member(old, name)
}

func (w *cleanWalk) elements(n *Node, i, old uint32) bool {
	if n.Items == nil || n.Items.Flags&RulesBelow == 0 {
		return true
	}
	for c := w.d.Nodes[i].First; c != 0; c = w.d.Nodes[c].Next {
		before := uint32(0)
		if old != 0 {
			before = w.pairs.MapList(n, old).Get(c)
		}
		if !w.node(n.Items, c, before) {
			return false
		}
	}
	return true
}
