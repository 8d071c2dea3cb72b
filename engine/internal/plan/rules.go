package plan

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Update is the old object for rules. The zero Update is a creation.
type Update struct {
	// Old is the root of the old tree, in the same Doc.
	Old uint32
	// Pairs correlates the two trees. It is required with Old.
	Pairs *Pairs
	// Ratchet ratchets violations about unchanged values.
	Ratchet bool
}

// Rules evaluates the rules of the plan for the object at root and adds violations to the run. The object may be of any
// kind. The order is document order: the rules of a node, then those of additional properties, then those of declared
// properties. The run may end early: see rule.Run.
//
// Upstream: schema/cel/validation.go, validate, validateMap, validateArray.
func (p *Plan) Rules(r *rule.Run, root uint32, u Update, at At) {
	w := ruleWalk{walker: walker{d: r.Doc, at: at}, run: r, pairs: u.Pairs}
	if u.Ratchet {
		w.pair = u.Pairs.Root(p.Root, root, u.Old)
	}
	w.node(p.Root, root, u.Old)
}

// ruleWalk is the state of Rules. It implements rule.Position for the current site.
type ruleWalk struct {
	walker
	run   *rule.Run
	pairs *Pairs
	// pair is the value with its old value, or zero. parent is the pair of the nearest value above that correlates.
	pair, parent Pair
}

// Field returns the path in upstream's spelling, or a Child of it.
func (w *ruleWalk) Field(below string) string { return w.bracketed(below) }

// Ratchet reports whether the value, or the nearest one above that correlates, is unchanged.
func (w *ruleWalk) Ratchet() bool {
	if w.pair.Known() {
		return w.pair.Equal()
	}
	return w.parent.Equal()
}

// Violation returns a Violation for an error about the value or a part of it.
func (w *ruleWalk) Violation(node uint32, err *field.Error, below tree.Path, index int) violation.Violation {
	keyword := ""
	if index >= 0 {
		keyword = "x-kubernetes-validations/" + strconv.Itoa(index)
	}
	v := w.violation(violation.Rules, node, err, below, keyword)
	v.AtNode = len(below) == 0
	return v
}

// node evaluates the rules at and below n. It returns false if the run has ended.
func (w *ruleWalk) node(n *Node, i, old uint32) (more bool) {
	if n == nil || n.Flags&RulesBelow == 0 || w.d.Nodes[i].Kind == tree.Null && quirk.On(quirk.NullSkipsRules) {
		return true
	}
	if n.Rules != nil && !n.Rules.Evaluate(w.run, rule.Site{Self: i, Old: old, Position: w}) {
		return false
	}
	if w.tick(1) {
		return false
	}
	switch w.d.Nodes[i].Kind {
	case tree.Object:
		return w.members(n, i, old)
	case tree.Array:
		return w.elements(n, i, old)
	}
	return true
}

func (w *ruleWalk) members(n *Node, i, old uint32) (more bool) {
	if w.d.Nodes[old].Kind != tree.Object {
		old = 0
	}
	if a := n.Additional; a != nil && a.Flags&RulesBelow != 0 {
		for c := w.d.Nodes[i].First; c != 0; c = w.d.Nodes[c].Next {
			if !w.member(a, step{kind: stepAdditional, name: w.d.Key(c)}, c, old) {
				return false
			}
		}
	}
	after := uint16(0)
	for c := w.d.Nodes[i].First; c != 0 && len(n.Names) > 0; c = w.d.Nodes[c].Next {
		key := w.d.Key(c)
		slot, declared := n.slotAfter(w.d, &after, key)
		if !declared || n.Props[slot].Flags&RulesBelow == 0 {
			continue
		}
		if !w.member(n.Props[slot], step{kind: stepProperty, name: key}, c, old) {
			return false
		}
	}
	return true
}

func (w *ruleWalk) member(n *Node, s step, c, old uint32) (more bool) {
	pair, parent := w.pair, w.parent
	switch {
	case !pair.Known():
	case !parent.Known() && (s.name == "apiVersion" || s.name == "kind"):
		// their changes are invisible, since both objects were converted to one version
		w.pair, w.parent = Pair{}, Pair{}
	default:
		w.pair, w.parent = pair.Member(c), pair
	}
	w.enter(s)
	more = w.node(n, c, w.pairs.Member(old, s.name))
	w.leave()
	w.pair, w.parent = pair, parent
	return more
}

func (w *ruleWalk) elements(n *Node, i, old uint32) bool {
	if n.Items == nil || n.Items.Flags&RulesBelow == 0 {
		return true
	}
	pair, parent := w.pair, w.parent
	more, k := true, 0
	for c := w.d.Nodes[i].First; c != 0 && more; c, k = w.d.Nodes[c].Next, k+1 {
		if pair.Known() {
			w.pair, w.parent = pair.Index(c), pair
		}
		w.enter(step{kind: stepItem, index: k})
		more = w.node(n.Items, c, w.pairs.sameKeys(n, old, c))
		w.leave()
	}
	w.pair, w.parent = pair, parent
	return more
}

// FillSlots fills the slots of every object, for rules on trees that Accept has not visited. The tree must not be
// edited after it. If the slots take too much memory, the remaining members are looked up by name.
func (p *Plan) FillSlots(d *tree.Doc, root uint32) {
	if root != 0 && p.HasRules() {
		fillSlots(d, p.Root, root)
	}
}

func fillSlots(d *tree.Doc, n *Node, i uint32) {
	switch d.Nodes[i].Kind {
	case tree.Array:
		if n.Items == nil {
			return
		}
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			fillSlots(d, n.Items, c)
		}
	case tree.Object:
		base, slotted := len(d.Slots), false
		d.Nodes[i].Flags &^= tree.Slotted
		if len(n.Names) > 0 && base+len(n.Names) <= maxSlots {
			d.Slots = grow(d.Slots, len(n.Names))
			d.Nodes[i].Val = uint64(base)
			d.Nodes[i].Flags |= tree.Slotted
			slotted = true
		}
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			child := n.Additional
			if slot, declared := n.find(d.Key(c)); declared {
				child = n.Props[slot]
				if slotted {
					d.Slots[base+slot] = c
				}
			}
			if child != nil {
				fillSlots(d, child, c)
			}
		}
	}
}

// CleanRules reports whether all rules hold for an accepted object, within the budget and without errors. It charges
// the run. False means doubt: Rules decides with a new run. pairs and old are nil and 0 for a creation. It does not
// allocate.
func (p *Plan) CleanRules(r *rule.Run, root, old uint32, pairs *Pairs) bool {
	return (&cleanWalk{d: r.Doc, run: r, pairs: pairs}).node(p.Root, root, old)
}

type cleanWalk struct {
	d     *tree.Doc
	run   *rule.Run
	pairs *Pairs
	work  int
}

func (w *cleanWalk) node(n *Node, i, old uint32) bool {
	if n.Rules != nil && !n.Rules.Holds(w.run, i, old) {
		return false
	}
	if w.work++; w.work%pollEvery == 0 && w.run.Stop.Stopped() {
		return false
	}
	switch w.d.Nodes[i].Kind {
	case tree.Object:
		return w.members(n, i, old)
	case tree.Array:
		if n.Items == nil || n.Items.Flags&RulesBelow == 0 {
			break
		}
		for c := w.d.Nodes[i].First; c != 0; c = w.d.Nodes[c].Next {
			if !w.node(n.Items, c, w.pairs.sameKeys(n, old, c)) {
				return false
			}
		}
	}
	return true
}

func (w *cleanWalk) members(n *Node, i, old uint32) bool {
	d := w.d
	if a := n.Additional; a != nil && a.Flags&RulesBelow != 0 {
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			if !w.node(a, c, w.pairs.Member(old, d.Key(c))) {
				return false
			}
		}
	}
	if len(n.Names) == 0 {
		return true
	}
	slotted := d.Nodes[i].Flags&tree.Slotted != 0
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
		if c != 0 && !w.node(child, c, w.pairs.Member(old, n.Names[s])) {
			return false
		}
	}
	return true
}
