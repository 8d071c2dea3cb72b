package jsonpath

import (
	"cmp"

	"github.com/crdeval/crdeval/engine/value"
)

// filter appends the list elements that pass. It fails for values that are not lists, including null.
func (w *Evaluation) filter(s *step, lo, hi int) (from, to int, ok bool) {
	from = len(w.items)
	for k := lo; k < hi; k++ {
		it := w.items[k]
		if it.made != 0 || w.d.Nodes[it.Node].Kind != value.Array {
			return lo, hi, false
		}
		for c := w.d.Nodes[it.Node].First; c != 0; c = w.d.Nodes[c].Next {
			end := len(w.items)
			pass, why := w.passes(s, Value{Node: c})
			w.items = w.items[:end]
			switch {
			case w.Ended != Continues || why == withInput:
				return lo, hi, false
			case why == withResults:
				return from, end, false
			case pass && !w.push(Value{Node: c}):
				return lo, hi, false
			}
		}
	}
	return from, len(w.items), true
}

// failure is the list that a failed filter returns with its error.
type failure uint8

const (
	none        failure = iota
	withInput           // its input
	withResults         // the elements that passed so far
)

// passes reports whether an element passes a filter.
func (w *Evaluation) passes(s *step, element Value) (pass bool, why failure) {
	if s.member != "" {
		return w.memberPasses(s, element)
	}
	at := len(w.items)
	if !w.push(element) {
		return false, withInput
	}
	a, b, ok := w.list(s.lists[0], at, at+1)
	if w.Ended != Continues {
		return false, withInput
	}
	if s.comparison == "exists" {
		return b > a, none // even if the path failed
	}
	left, one, why := w.operand(a, b, ok)
	if !one {
		return false, why
	}
	a, b, ok = w.list(s.lists[1], at, at+1)
	right, one, why := w.operand(a, b, ok)
	if !one || w.Ended != Continues {
		return false, why
	}
	pass, ok = compare(s.comparison, left, right)
	if !ok {
		return false, withResults
	}
	return pass, none
}

// memberPasses is passes for the most common filter: [?(@.type=="Ready")].
func (w *Evaluation) memberPasses(s *step, element Value) (pass bool, why failure) {
	if !w.Visit(1) {
		return false, withInput
	}
	c := w.member(element.Node, s.member)
	switch {
	case c == 0:
		return false, none
	case w.d.Nodes[c].Kind != value.String:
		return false, withResults // only strings compare with a string
	}
	return w.d.Str(c) == w.path.made[s.item.made-madeLiteral].Text, none
}

// operand returns the value of a list with one element. An empty list has no operand, and a longer one fails.
func (w *Evaluation) operand(a, b int, ok bool) (l Scalar, one bool, why failure) {
	switch {
	case !ok || b-a > 1:
		return l, false, withInput
	case b == a:
		return l, false, none
	}
	return w.path.scalar(w.d, w.items[a]), true, none
}

// compare compares two scalars as upstream does. Both must have the same kind, and integers do not compare with floats.
// ok is false for different kinds and unknown operators.
func compare(how string, a, b Scalar) (pass, ok bool) {
	var order int
	switch {
	case a.Kind == NoScalar || b.Kind == NoScalar:
		return false, false
	case a.whole() && b.whole():
		order = cmp.Compare(a.Int, b.Int)
	case a.Kind != b.Kind:
		return false, false
	case a.Kind == Bool:
		return (a.Bool == b.Bool) == (how == "=="), how == "==" || how == "!="
	case a.Kind == Float:
		order = cmp.Compare(a.Float, b.Float)
	default:
		order = cmp.Compare(a.Text, b.Text)
	}
	switch how {
	case "==":
		return order == 0, true
	case "!=":
		return order != 0, true
	case "<":
		return order < 0, true
	case ">=":
		return order >= 0, true
	case "<=":
		return order <= 0, true
	case ">":
		return order > 0, true
	}
	return false, false
}

// whole reports whether the scalar is an integer or a byte, which compare with each other.
func (l *Scalar) whole() bool { return l.Kind == Int || l.Kind == Uint }
