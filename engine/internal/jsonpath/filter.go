package jsonpath

import (
	"cmp"

	"k8s.io/client-go/util/jsonpath"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// filter appends the list elements that pass. It fails for values that are not lists, including null.
func (w *Evaluation) filter(n *jsonpath.FilterNode, lo, hi int) (from, to int, ok bool) {
	from = len(w.items)
	for k := lo; k < hi; k++ {
		it := w.items[k]
		if it.made != 0 || w.d.Nodes[it.Node].Kind != tree.Array {
			return lo, hi, false
		}
		for c := w.d.Nodes[it.Node].First; c != 0; c = w.d.Nodes[c].Next {
			end := len(w.items)
			pass, why := w.passes(n, Value{Node: c})
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
func (w *Evaluation) passes(n *jsonpath.FilterNode, element Value) (pass bool, why failure) {
	if pass, why, ok := w.memberPasses(n, element); ok {
		return pass, why
	}
	at := len(w.items)
	if !w.push(element) {
		return false, withInput
	}
	a, b, ok := w.list(n.Left, at, at+1)
	if w.Ended != Continues {
		return false, withInput
	}
	if n.Operator == "exists" {
		return b > a, none // even if the path failed
	}
	left, one, why := w.operand(a, b, ok)
	if !one {
		return false, why
	}
	a, b, ok = w.list(n.Right, at, at+1)
	right, one, why := w.operand(a, b, ok)
	if !one || w.Ended != Continues {
		return false, why
	}
	pass, ok = compare(n.Operator, left, right)
	if !ok {
		return false, withResults
	}
	return pass, none
}

// memberPasses is passes for the most common filter: [?(@.type=="Ready")]. ok is false for any other filter.
func (w *Evaluation) memberPasses(n *jsonpath.FilterNode, element Value) (pass bool, why failure, ok bool) {
	if n.Operator != "==" || len(n.Left.Nodes) != 1 || len(n.Right.Nodes) != 1 {
		return false, none, false
	}
	field, isField := n.Left.Nodes[0].(*jsonpath.FieldNode)
	text, isText := n.Right.Nodes[0].(*jsonpath.TextNode)
	switch {
	case !isField || !isText:
		return false, none, false
	case !w.Visit(1):
		return false, withInput, true
	}
	c := w.member(element.Node, field.Value)
	switch {
	case c == 0:
		return false, none, true
	case w.d.Nodes[c].Kind != tree.String:
		return false, withResults, true // only strings compare with a string
	}
	return w.d.Str(c) == text.Text, none, true
}

// operand returns the value of a list with one element. An empty list has no operand, and a longer one fails.
func (w *Evaluation) operand(a, b int, ok bool) (l Scalar, one bool, why failure) {
	switch {
	case !ok || b-a > 1:
		return l, false, withInput
	case b == a:
		return l, false, none
	}
	return w.Scalar(w.items[a]), true, none
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
