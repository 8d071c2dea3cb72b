package jsonpath

import (
	"k8s.io/client-go/util/jsonpath"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Evaluation evaluates paths over one tree. items holds the value lists of all steps one after another; a list is a
// range of indexes. Steps fail as upstream's do. Existence filters use the list that a failed step returns.
//
// Members of objects come in document order. Upstream uses the random order of a Go map, so the result is one of
// upstream's possible results.
type Evaluation struct {
	d     *tree.Doc
	path  *Path
	state *RangeState
	stop  *interrupt.Signal
	items []Value
	// left is the remaining number of visits for the object.
	left int
	// Ended is the reason why the evaluation stopped.
	Ended Ending
}

// Ending is the reason why an evaluation ended.
type Ending uint8

// The values of Ending.
const (
	Continues Ending = iota
	Exhausted        // the budget of visits is used up
	Stopped          // the signal fired
	Panics           // upstream panics here
)

// MaxVisits is the number of values that the paths of all columns may visit in one object. Upstream has no such bound:
// a path of 30 bytes can make billions of visits.
const MaxVisits = 4 << 20

// MembersPerVisit is the number of object members compared by name that count as one visit.
const MembersPerVisit = 16

// Visit subtracts n visits from the budget and reports whether the evaluation continues.
func (w *Evaluation) Visit(n int) bool {
	const asks = 1 << 10 // visits between two checks of the signal
	before := w.left
	w.left -= n
	switch {
	case w.Ended != Continues:
		return false
	case w.left < 0:
		w.Ended = Exhausted
		return false
	case before/asks != w.left/asks && w.stop.Stopped():
		w.Ended = Stopped
		return false
	}
	return true
}

// push appends a value to the current list.
func (w *Evaluation) push(it Value) bool {
	w.items = append(w.items, it)
	return w.Visit(1)
}

// member returns a member of an object, or 0.
func (w *Evaluation) member(object uint32, name string) uint32 {
	if w.d.Nodes[object].Kind != tree.Object || !w.Visit(1+w.d.Len(object)/MembersPerVisit) {
		return 0
	}
	return w.d.Field(object, name)
}

// list applies steps in sequence to the list [lo, hi) and returns the range of the result.
func (w *Evaluation) list(steps *jsonpath.ListNode, lo, hi int) (from, to int, ok bool) {
	for _, n := range steps.Nodes {
		if lo, hi, ok = w.step(n, lo, hi); !ok || w.Ended != Continues {
			return lo, hi, false
		}
	}
	return lo, hi, true
}

func (w *Evaluation) step(n jsonpath.Node, lo, hi int) (from, to int, ok bool) {
	from = len(w.items)
	switch n := n.(type) {
	case *jsonpath.ListNode: // a block
		return w.list(n, lo, hi)
	case *jsonpath.FieldNode:
		for k := lo; k < hi; k++ {
			if it := w.items[k]; it.made == 0 {
				if c := w.member(it.Node, n.Value); c != 0 {
					w.push(Value{Node: c})
				}
			}
		}
	case *jsonpath.ArrayNode:
		return w.slices(n, lo, hi)
	case *jsonpath.FilterNode:
		return w.filter(n, lo, hi)
	case *jsonpath.WildcardNode:
		for k := lo; k < hi && w.Ended == Continues; k++ {
			w.children(w.items[k])
		}
	case *jsonpath.RecursiveNode:
		for k := lo; k < hi && w.Ended == Continues; k++ {
			w.descend(w.items[k])
		}
	case *jsonpath.UnionNode:
		return w.union(n, lo, hi)
	case *jsonpath.TextNode:
		w.push(Value{made: madeLiteral, literal: n})
	case *jsonpath.IdentifierNode:
		return w.word(n.Name, lo, hi)
	default: // a number or a boolean
		for k := lo; k < hi && w.push(Value{made: madeLiteral, literal: n}); k++ {
		}
	}
	return from, len(w.items), true
}

// children appends the members of an object, the elements of a list, or the bytes of a string.
func (w *Evaluation) children(it Value) {
	if text, ok := w.text(it); ok {
		for i := 0; i < len(text) && w.push(Value{made: madeByte + uint32(text[i])}); i++ {
		}
	} else if it.made == 0 {
		for c := w.d.Nodes[it.Node].First; c != 0 && w.push(Value{Node: c}); c = w.d.Nodes[c].Next {
		}
	}
}

// descend appends a value that has children and all such values below it.
func (w *Evaluation) descend(it Value) {
	if text, ok := w.text(it); ok {
		// Bytes have no children. Upstream visits each of them.
		if text != "" && w.Visit(len(text)/MembersPerVisit) {
			w.push(it)
		}
		return
	}
	if it.made != 0 || w.d.Nodes[it.Node].First == 0 || !w.push(it) {
		return
	}
	for c := w.d.Nodes[it.Node].First; c != 0 && w.Visit(1); c = w.d.Nodes[c].Next {
		w.descend(Value{Node: c})
	}
}

// text returns the content of a string.
func (w *Evaluation) text(it Value) (string, bool) {
	if n, ok := it.literal.(*jsonpath.TextNode); ok {
		return n.Text, true
	}
	if it.made == 0 && w.d.Nodes[it.Node].Kind == tree.String {
		return w.d.Str(it.Node), true
	}
	return "", false
}

// slices appends the selected elements of each list. It skips null and fails for other values that are not lists.
func (w *Evaluation) slices(n *jsonpath.ArrayNode, lo, hi int) (from, to int, ok bool) {
	from = len(w.items)
	for k := lo; k < hi; k++ {
		it := w.items[k]
		if it.made == madeNothing {
			w.Ended = Panics // upstream calls a method of an invalid reflect.Value
			return lo, hi, false
		}
		if it.made == 0 && w.d.Nodes[it.Node].Kind == tree.Null {
			continue
		}
		if it.made != 0 || w.d.Nodes[it.Node].Kind != tree.Array {
			return lo, hi, false
		}
		first, last, none, ok := extent(n, w.d.Len(it.Node))
		if !ok {
			return lo, hi, false
		}
		if none {
			break // upstream ignores the remaining lists
		}
		stride := 1
		if b := n.Params[2]; b.Known {
			if b.Value <= 0 {
				return lo, hi, false
			}
			stride = b.Value
		}
		if !w.elements(it.Node, first, last, stride) {
			return lo, hi, false
		}
	}
	return from, len(w.items), true
}

// extent returns the range of a slice in a list of the given length. none is set if the range is empty; ok is false if
// it is out of bounds.
func extent(n *jsonpath.ArrayNode, length int) (first, last int, none, ok bool) {
	if b := n.Params[0]; b.Known {
		first = b.Value
	}
	if first < 0 {
		first += length
	}
	last = n.Params[1].Value
	if !n.Params[1].Known {
		last = length
	}
	if last < 0 || last == 0 && n.Params[1].Derived {
		last += length
	}
	switch {
	case first == last:
		return 0, 0, true, true
	case first >= length || first < 0 || last > length || last < 0 || first > last:
		return 0, 0, false, false
	}
	return first, last, false, true
}

func (w *Evaluation) elements(list uint32, first, last, stride int) bool {
	c := w.d.Nodes[list].First
	for i, next := 0, first; i < last; i++ {
		if i%MembersPerVisit == 0 && !w.Visit(1) {
			return false
		}
		if i == next {
			if !w.push(Value{Node: c}) {
				return false
			}
			if stride > last-next {
				break
			}
			next += stride
		}
		c = w.d.Nodes[c].Next
	}
	return true
}

// union appends the results of all its members for the list.
func (w *Evaluation) union(n *jsonpath.UnionNode, lo, hi int) (from, to int, ok bool) {
	from = len(w.items)
	for _, list := range n.Nodes {
		end := len(w.items)
		a, b, ok := w.list(list, lo, hi)
		if !ok {
			return lo, hi, false
		}
		copy(w.items[end:], w.items[a:b])
		w.items = w.items[:end+b-a]
	}
	return from, len(w.items), true
}

// Begin starts the evaluation of paths over one tree with a common budget of visits. The signal may be nil.
func (w *Evaluation) Begin(d *tree.Doc, s *interrupt.Signal, visits int) {
	w.d, w.stop, w.left, w.Ended = d, s, visits, Continues
}

// Release drops the tree and keeps the memory for the next one.
func (w *Evaluation) Release() {
	items := w.items[:0]
	if cap(items) > 1<<16 {
		items = nil
	}
	*w = Evaluation{items: items}
}

// First returns the first value of a path. A path with ranges changes the state.
func (w *Evaluation) First(p *Path, root uint32, state *RangeState) (first Value, ok bool) {
	w.path = p
	if p.Names != nil {
		for _, name := range p.Names {
			if root = w.member(root, name); root == 0 {
				return first, false
			}
		}
		return Value{Node: root}, true
	}
	w.items, w.state = w.items[:0], state
	f, ok := w.find(Value{Node: root})
	if !ok || f.blocks == 0 || !f.some {
		return first, false
	}
	if f.first.made == madeNothing {
		w.Ended = Panics // upstream dereferences a nil value here
	}
	return f.first, true
}
