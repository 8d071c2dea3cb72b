package compare

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// operators compares the logical operators allOf, anyOf, oneOf and not, as far as their clauses are not parts.
// Ratcheting does not apply to them.
func (w *pair) operators(keyword string) {
	old, new := w.old.operators(keyword), w.new.operators(keyword)
	tight, loose := w.unsatisfied(w.old, new), w.unsatisfied(w.new, old)
	for i := range max(len(tight), len(loose)) {
		switch {
		case i >= len(tight):
			w.looser(&loose[i], partner(new, &loose[i]))
		case i < len(loose):
			w.tighter(&loose[i], &tight[i])
		default:
			w.tighter(partner(old, &tight[i]), &tight[i])
		}
	}
}

// unsatisfied returns the operators of a list that values of the parts may not satisfy.
func (w *pair) unsatisfied(list parts, all []operator) (beyond []operator) {
	for _, o := range all {
		if w.proof.start(); !w.proof.satisfies(list, &o) {
			o.undecided = w.proof.exhausted
			beyond = append(beyond, o)
		}
	}
	return beyond
}

// partner returns the operator of a list at the path of another one, or nil.
func partner(list []operator, of *operator) *operator {
	for i := range list {
		if list[i].path.Pointer() == of.path.Pointer() {
			return &list[i]
		}
	}
	return nil
}

// tighter reports an operator that may reject values. o is nil if it is new.
func (w *pair) tighter(o, n *operator) {
	kind, impact, message := "LogicalOperatorChanged", careForWrites, undecided
	oldAt, newAt, oldValue := n.path, n.path, any(nil)
	var removed, added []clause
	if o != nil {
		oldAt, oldValue = o.path, o.shown()
		removed, added = distinct(o.clauses, n.clauses)
	}
	switch {
	case n.undecided:
	case o == nil && n.keyword == "not":
		kind, impact, message = "LogicalOperatorTightened", breaksWrites, "values that satisfy the schema are rejected"
	case o == nil, n.keyword != "not" && len(added) == 0:
		kind, impact = "LogicalOperatorTightened", breaksWrites
		message = "some values are rejected, also by updates that do not change them"
	case n.keyword != "not" && len(added) == 1 && len(removed) <= 1:
		newAt = newAt.With(tree.At(added[0].index))
		oldAt = newAt
	}
	w.reportMoved(kind, impact, oldAt, newAt, oldValue, n.shown(), "%s", message)
}

// looser reports an operator that accepts more values. n is nil if it is removed.
func (w *pair) looser(o, n *operator) {
	impact, message := careForReaders, "all valid values stay valid, and readers can get others"
	if o.keyword == "not" {
		impact, message = harmless, "fewer values are rejected"
	}
	if n == nil {
		w.report("LogicalOperatorLoosened", harmless, o.path, o.shown(), nil, "%s is removed", o.keyword)
		return
	}
	at := n.path
	if removed, added := distinct(o.clauses, n.clauses); o.keyword != "not" && len(added) == 1 && len(removed) <= 1 {
		at = at.With(tree.At(added[0].index))
	}
	w.reportMoved("LogicalOperatorLoosened", impact, at, at, o.shown(), n.shown(), "%s", message)
}

// shown returns the value of an operator in a change.
func (o *operator) shown() any {
	if o.keyword == "not" {
		return &o.clauses[0]
	}
	return o.clauses
}

const undecided = "it may reject values that were accepted: try it on objects"

// anyOf returns the anyOf of a schema, except for the one that is implied by int-or-string.
func anyOf(s *Props) []Props {
	if s.XIntOrString && isIntOrString(s.AnyOf) {
		return nil
	}
	return s.AnyOf
}

// allOf returns the allOf of a schema, likewise.
func allOf(s *Props) []Props {
	if !s.XIntOrString || len(s.AllOf) == 0 || !isIntOrString(s.AllOf[0].AnyOf) {
		return s.AllOf
	}
	list := slices.Clone(s.AllOf)
	list[0].AnyOf = nil
	return list
}

func isIntOrString(anyOf []Props) bool {
	return len(anyOf) == 2 && jsonOf(&anyOf[0]) == `{"type":"integer"}` && jsonOf(&anyOf[1]) == `{"type":"string"}`
}

// clause is a clause of an operator, with its index.
type clause struct {
	*Props
	index int
}

// distinct returns the clauses that are only in one of two lists. It respects duplicates.
func distinct(old, new []Props) (removed, added []clause) {
	count := make(map[string]int, len(old))
	for i := range old {
		count[jsonOf(&old[i])]++
	}
	for i := range new {
		if t := jsonOf(&new[i]); count[t] > 0 {
			count[t]--
		} else {
			added = append(added, clause{&new[i], i})
		}
	}
	for i := len(old) - 1; i >= 0; i-- {
		if t := jsonOf(&old[i]); count[t] > 0 {
			count[t]--
			removed = append(removed, clause{&old[i], i})
		}
	}
	slices.Reverse(removed)
	return removed, added
}
