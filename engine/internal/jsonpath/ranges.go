package jsonpath

import "github.com/crdeval/crdeval/engine/internal/tree"

// RangeState is the state of {range} and {end} in upstream's evaluator. Upstream does not reset it when an evaluation
// ends or fails. So one object can change the columns of the next, and a server's response depends on earlier requests.
// Here every table starts with a new state, as on a server that has just started to serve the CRD.
type RangeState struct {
	start              int // first block of the next evaluation
	begins, ends, open int
	lastEnd            int // block of the last {end} plus 1, or 0
}

// found is the part of upstream's results that a column uses: the number of lists, and the first value of the first
// list.
type found struct {
	blocks int
	some   bool
	first  Value
}

func (f *found) add(more found) {
	if f.blocks == 0 {
		f.some, f.first = more.some, more.first
	}
	f.blocks += more.blocks
}

// find evaluates the blocks of a path for an object, or for a value within a range.
func (w *Evaluation) find(at Value) (f found, ok bool) {
	r := w.state
	for i := r.start; i < len(w.path.blocks); i++ {
		base := len(w.items)
		if !w.push(at) {
			return f, false
		}
		lo, hi, ok := w.step(w.path.blocks[i], base, base+1)
		if !ok {
			return f, false
		}
		if r.ends > 0 && r.ends <= r.open {
			r.ends--
			r.lastEnd = i + 1
			break
		}
		if r.begins == 0 {
			one := found{blocks: 1, some: hi > lo}
			if one.some {
				one.first = w.items[lo]
			}
			f.add(one)
			continue
		}
		r.begins--
		r.open++
		if !w.each(i+1, lo, hi, &f) {
			return f, false
		}
		r.open--
		if r.lastEnd > i+1 { // continue after the end of the range
			i = r.lastEnd - 1
		}
	}
	return f, true
}

// each evaluates the blocks from block on for each value of a list. For an empty list it evaluates them once with no
// value, so that {end} is found.
func (w *Evaluation) each(block, lo, hi int, f *found) bool {
	if lo == hi {
		w.state.start = block
		_, ok := w.find(Value{made: madeNothing})
		return ok
	}
	for k := lo; k < hi; k++ {
		w.state.start = block
		it := w.items[k]
		switch {
		case it.made == madeNothing:
			w.Ended = Panics // upstream calls a method of an invalid reflect.Value
			return false
		case it.made == 0 && w.d.Nodes[it.Node].Kind == tree.Null:
			it = Value{made: madeNothing}
		}
		more, ok := w.find(it)
		if !ok {
			return false
		}
		f.add(more)
	}
	return true
}

// word evaluates range, end, or an unknown word.
func (w *Evaluation) word(name string, lo, hi int) (from, to int, ok bool) {
	none := len(w.items)
	switch name {
	case "range":
		w.state.begins++
		return lo, hi, true
	case "end":
		if w.state.open > 0 {
			w.state.ends++
			return none, none, true
		}
		return none, none, false
	}
	return lo, hi, false
}
