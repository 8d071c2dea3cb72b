package jsonpath

import "github.com/crdeval/crdeval/engine/value"

// RangeState is what upstream's evaluator keeps of {range} and {end}. It is not put back when an evaluation ends or fails, so the first object can change
// what the columns of the next are: a server's answer depends on what it was asked before. Ours is that of a server which has just started to
// serve the CRD: the state is new for every table, and goes from row to row.
//
// Upstream: client-go util/jsonpath/jsonpath.go, FindResults.
type RangeState struct {
	start              int // the block that the next evaluation begins with
	begins, ends, open int
	lastEnd            int // one behind the block of the last {end}, 0 if there was none
}

// found is what upstream's column takes of all results: whether there is a list for the first block, and its first value.
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
		lo, hi, ok := w.list(w.path.blocks[i], base, base+1)
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
		if r.lastEnd > i+1 { // go on behind the end of the range
			i = r.lastEnd - 1
		}
	}
	return f, true
}

// each evaluates the blocks from one on for each value of a list; of an empty list once, for nothing, so that the end is found.
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
			w.Ended = Panics // upstream asks nothing at all for its content
			return false
		case it.made == 0 && w.d.Nodes[it.Node].Kind == value.Null:
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

// word is range, end, or a word that means nothing.
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
