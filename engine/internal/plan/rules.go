package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// Update is what rules may know of the object that is replaced. The zero Update is a create.
type Update struct {
	// Old is the root of the old tree, in the same Doc.
	Old uint32
	// Pairs correlates the two trees; needed with Old.
	Pairs *Pairs
	// Ratchet forgives what rules find where the object is what it was.
	Ratchet bool
}

// Rules evaluates the rules of the plan for the object at root, which is judged as it stands, of the plan's kind or not, and adds what they find
// to the run. It goes node by node, in document order: the node's own rules, then what additionalProperties speak of, then declared properties.
// The run may end early: see rule.Run.
//
// Upstream: schema/cel/validation.go, validate, validateMap, validateArray.
func (p *Plan) Rules(r *rule.Run, root uint32, u Update, at At) {
	if !p.HasRules() {
		return
	}
	w := ruleWalk{tour: tour{d: r.Doc, at: at}, run: r, pairs: u.Pairs}
	if u.Ratchet {
		w.pair = u.Pairs.Root(p.Root, root, u.Old)
	}
	w.node(p.Root, root, u.Old)
}

// ruleWalk is where Rules stands. It is the rule.Place of the site that is being judged.
type ruleWalk struct {
	tour
	run   *rule.Run
	pairs *Pairs
	// pair is the value with its old one, zero where it does not correlate. parent is that of the nearest value above that does.
	pair, parent Pair
}

// Field is the place in upstream's spelling, or a Child of it.
func (w *ruleWalk) Field(below string) string { return w.bracketed(below) }

// Ratchet reports whether the value, or the nearest one above that correlates, is what it was.
func (w *ruleWalk) Ratchet() bool {
	if w.pair.Known() {
		return w.pair.Equal()
	}
	return w.parent.Equal()
}

// Violation wraps an error about the value or a part of it.
func (w *ruleWalk) Violation(node uint32, err *field.Error, below value.Path, keyword string) violation.Violation {
	return w.violation(violation.Rules, node, err, below, keyword)
}

// node evaluates the rules of n and of what is below. False: nothing further runs.
func (w *ruleWalk) node(n *Node, i, old uint32) (more bool) {
	if n == nil || n.Flags&RulesBelow == 0 || w.d.Nodes[i].Kind == value.Null && quirk.On(quirk.NullSkipsRules) {
		return true
	}
	if n.Rules != nil && !n.Rules.Evaluate(w.run, rule.Site{Self: i, Old: old, Position: w}) {
		return false
	}
	if w.tick(1) {
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

func (w *ruleWalk) members(n *Node, i, old uint32) (more bool) {
	if w.d.Nodes[old].Kind != value.Object {
		old = 0
	}
	if a := n.Additional; a != nil && a.Flags&RulesBelow != 0 {
		for c := w.d.Nodes[i].First; c != 0; c = w.d.Nodes[c].Next {
			if !w.member(a, step{kind: stepAdditional, name: w.d.Key(c)}, c, old) {
				return false
			}
		}
	}
	for c := w.d.Nodes[i].First; c != 0 && len(n.Names) > 0; c = w.d.Nodes[c].Next {
		key := w.d.Key(c)
		slot, declared := n.find(key)
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
		w.pair, w.parent = Pair{}, Pair{} // their changes cannot be seen: both objects were converted to one version
	default:
		w.pair, w.parent = pair.Member(c), pair
	}
	before := uint32(0)
	if old != 0 {
		before = w.pairs.Member(old, s.name)
	}
	w.enter(s)
	more = w.node(n, c, before)
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
		before := uint32(0)
		if old != 0 {
			before = w.pairs.MapList(n, old).Get(c)
		}
		w.enter(step{kind: stepItem, index: k})
		more = w.node(n.Items, c, before)
		w.leave()
	}
	w.pair, w.parent = pair, parent
	return more
}
