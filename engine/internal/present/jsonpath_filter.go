package present

import "github.com/crdeval/crdeval/internal/value"

// filter appends the elements of lists that pass. What is no list fails, null included.
func (w *walk) filter(s *step, lo, hi int) (from, to int, ok bool) {
	from = len(w.items)
	for k := lo; k < hi; k++ {
		it := w.items[k]
		if it.made != 0 || w.d.Nodes[it.node].Kind != value.Array {
			return lo, hi, false
		}
		for c := w.d.Nodes[it.node].First; c != 0; c = w.d.Nodes[c].Next {
			end := len(w.items)
			pass, why := w.passes(s, item{node: c})
			w.items = w.items[:end]
			switch {
			case w.ended != goesOn || why == withInput:
				return lo, hi, false
			case why == withResults:
				return from, end, false
			case pass && !w.push(item{node: c}):
				return lo, hi, false
			}
		}
	}
	return from, len(w.items), true
}

// failure says what a filter that fails returns beside its error.
type failure uint8

const (
	none        failure = iota
	withInput           // the lists that it was given
	withResults         // what has passed so far
)

// passes says whether an element passes a filter.
func (w *walk) passes(s *step, element item) (pass bool, why failure) {
	if s.member != "" {
		return w.memberPasses(s, element)
	}
	at := len(w.items)
	if !w.push(element) {
		return false, withInput
	}
	a, b, ok := w.list(s.lists[0], at, at+1)
	if w.ended != goesOn {
		return false, withInput
	}
	if s.comparison == "exists" {
		return b > a, none // whether or not it failed
	}
	left, one, why := w.operand(a, b, ok)
	if !one {
		return false, why
	}
	a, b, ok = w.list(s.lists[1], at, at+1)
	right, one, why := w.operand(a, b, ok)
	if !one || w.ended != goesOn {
		return false, why
	}
	pass, ok = compare(s.comparison, left, right)
	if !ok {
		return false, withResults
	}
	return pass, none
}

// memberPasses is passes for the filter that nearly all are: [?(@.type=="Ready")].
func (w *walk) memberPasses(s *step, element item) (pass bool, why failure) {
	if !w.visit(1) {
		return false, withInput
	}
	c := w.member(element.node, s.member)
	switch {
	case c == 0:
		return false, none
	case w.d.Nodes[c].Kind != value.String:
		return false, withResults // nothing else can be compared with a text
	}
	return w.d.Str(c) == w.path.made[s.item.made-madeLiteral].s, none
}

// operand is the one value of a list. Of none there is nothing to compare; more than one fail.
func (w *walk) operand(a, b int, ok bool) (l literal, one bool, why failure) {
	switch {
	case !ok || b-a > 1:
		return l, false, withInput
	case b == a:
		return l, false, none
	}
	return w.path.scalar(w.d, w.items[a]), true, none
}

// compare compares two scalars as upstream does: only those of one kind can be, and a whole number is of another kind than one with a fraction. An
// unknown comparison is not ok.
//
// Upstream: client-go third_party/forked/golang/template/funcs.go.
func compare(how string, a, b literal) (pass, ok bool) {
	switch how {
	case "==":
		return equal(a, b)
	case "!=":
		pass, ok = equal(a, b)
		return !pass, ok
	case "<":
		return less(a, b)
	case ">=":
		pass, ok = less(a, b)
		return !pass, ok
	case "<=":
		return lessOrEqual(a, b)
	case ">":
		pass, ok = lessOrEqual(a, b)
		return !pass, ok
	}
	return false, false
}

func lessOrEqual(a, b literal) (pass, ok bool) {
	if pass, ok = less(a, b); pass || !ok {
		return pass, ok
	}
	return equal(a, b)
}

func equal(a, b literal) (pass, ok bool) {
	switch {
	case a.kind == noScalar || b.kind == noScalar:
		return false, false
	case a.whole() && b.whole():
		return a.i == b.i, true
	case a.kind != b.kind:
		return false, false
	case a.kind == boolScalar:
		return a.b == b.b, true
	case a.kind == floatScalar:
		return a.f == b.f, true
	}
	return a.s == b.s, true
}

func less(a, b literal) (pass, ok bool) {
	switch {
	case a.kind == noScalar || b.kind == noScalar:
		return false, false
	case a.whole() && b.whole():
		return a.i < b.i, true
	case a.kind != b.kind || a.kind == boolScalar:
		return false, false
	case a.kind == floatScalar:
		return a.f < b.f, true
	}
	return a.s < b.s, true
}

// whole: it is an integer or a byte, which compare with each other.
func (l *literal) whole() bool { return l.kind == intScalar || l.kind == uintScalar }
