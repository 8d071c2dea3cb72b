package present

import (
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/internal/value"
)

// walk evaluates paths over one tree. Lists of values stand one behind another in items, and are named by where they begin and end: what
// a step makes of a list is appended. A step fails as upstream's does; the list that it then returns counts in filters that ask whether something
// exists.
//
// Members of objects come in the order of the document, where upstream's come in the random order of a Go map: ours is one of its answers.
type walk struct {
	d     *value.Doc
	path  *path
	state *rangeState
	stop  *interrupt.Signal
	items []item
	// left is what the object may still cost.
	left int
	// ended is why nothing is evaluated any more: a bound, a deadline, what makes an API server panic.
	ended ending
}

type ending uint8

// The reasons to end a walk.
const (
	goesOn    ending = iota
	exhausted        // left is used up
	stopped          // nobody waits for the answer
	panics           // upstream would panic
)

// MaxVisits is how many values the paths of all columns may look at in one object. Upstream has no such bound: a path of 30 bytes makes billions of them.
const MaxVisits = 4 << 20

// membersPerVisit is how many members of an object are compared by name for the price of one visit.
const membersPerVisit = 16

// visit pays for looking at n values, and says whether the walk goes on.
func (w *walk) visit(n int) bool {
	const asks = 1 << 10 // how many visits go by until somebody asks whether the answer is still wanted
	before := w.left
	w.left -= n
	switch {
	case w.ended != goesOn:
		return false
	case w.left < 0:
		w.ended = exhausted
		return false
	case before/asks != w.left/asks && w.stop.Stopped():
		w.ended = stopped
		return false
	}
	return true
}

// push appends a value to the list that is being made.
func (w *walk) push(it item) bool {
	w.items = append(w.items, it)
	return w.visit(1)
}

// member is the member of an object, 0 if there is none.
func (w *walk) member(object uint32, name string) uint32 {
	if w.d.Nodes[object].Kind != value.Object || !w.visit(1+w.d.Len(object)/membersPerVisit) {
		return 0
	}
	return w.d.Field(object, name)
}

// list runs steps one after another on the list from lo to hi, and returns where the result stands.
func (w *walk) list(steps []step, lo, hi int) (from, to int, ok bool) {
	for i := range steps {
		if lo, hi, ok = w.step(&steps[i], lo, hi); !ok || w.ended != goesOn {
			return lo, hi, false
		}
	}
	return lo, hi, true
}

func (w *walk) step(s *step, lo, hi int) (from, to int, ok bool) {
	from = len(w.items)
	switch s.op {
	case opField:
		for k := lo; k < hi; k++ {
			if it := w.items[k]; it.made == 0 {
				if c := w.member(it.node, s.name); c != 0 {
					w.push(item{node: c})
				}
			}
		}
	case opSlice:
		return w.slices(s, lo, hi)
	case opFilter:
		return w.filter(s, lo, hi)
	case opWildcard:
		for k := lo; k < hi && w.ended == goesOn; k++ {
			w.children(w.items[k])
		}
	case opRecursive:
		for k := lo; k < hi && w.ended == goesOn; k++ {
			w.descend(w.items[k])
		}
	case opUnion:
		return w.union(s, lo, hi)
	case opLiteral:
		for k := lo; k < hi && w.push(s.item); k++ {
		}
	case opText:
		w.push(s.item)
	case opWord:
		return w.word(s.name, lo, hi)
	}
	return from, len(w.items), true
}

// children appends the members of an object, the elements of a list, or the bytes of a string.
func (w *walk) children(it item) {
	if text, ok := w.text(it); ok {
		for i := 0; i < len(text) && w.push(item{made: madeByte + uint32(text[i])}); i++ {
		}
	} else if it.made == 0 {
		for c := w.d.Nodes[it.node].First; c != 0 && w.push(item{node: c}); c = w.d.Nodes[c].Next {
		}
	}
}

// descend appends a value that has children, and all such values below it.
func (w *walk) descend(it item) {
	if text, ok := w.text(it); ok {
		// Its bytes have no children; upstream looks at each of them.
		if text != "" && w.visit(len(text)/membersPerVisit) {
			w.push(it)
		}
		return
	}
	if it.made != 0 || w.d.Nodes[it.node].First == 0 || !w.push(it) {
		return
	}
	for c := w.d.Nodes[it.node].First; c != 0 && w.visit(1); c = w.d.Nodes[c].Next {
		w.descend(item{node: c})
	}
}

// text is the content of a string.
func (w *walk) text(it item) (string, bool) {
	switch {
	case it.made >= madeLiteral:
		l := &w.path.made[it.made-madeLiteral]
		return l.s, l.kind == stringScalar
	case it.made == 0 && w.d.Nodes[it.node].Kind == value.String:
		return w.d.Str(it.node), true
	}
	return "", false
}

// slices appends the elements that a slice takes of each list. What is null is passed over, what is no list fails.
func (w *walk) slices(s *step, lo, hi int) (from, to int, ok bool) {
	from = len(w.items)
	for k := lo; k < hi; k++ {
		it := w.items[k]
		if it.made == madeNothing {
			w.ended = panics // upstream asks nothing at all for its type
			return lo, hi, false
		}
		if it.made == 0 && w.d.Nodes[it.node].Kind == value.Null {
			continue
		}
		if it.made != 0 || w.d.Nodes[it.node].Kind != value.Array {
			return lo, hi, false
		}
		length := w.d.Len(it.node)
		first, last, none, ok := s.extent(length)
		if !ok {
			return lo, hi, false
		}
		if none {
			break // upstream forgets the lists that are left
		}
		stride := 1
		if b := s.bounds[2]; b.known {
			if b.value <= 0 {
				return lo, hi, false
			}
			stride = b.value
		}
		if !w.elements(it.node, first, last, stride) {
			return lo, hi, false
		}
	}
	return from, len(w.items), true
}

// extent is what a slice means for a list of a length: none if nothing is asked for, not ok if it is out of bounds.
func (s *step) extent(length int) (first, last int, none, ok bool) {
	if b := s.bounds[0]; b.known {
		first = b.value
	}
	if first < 0 {
		first += length
	}
	last = s.bounds[1].value
	if !s.bounds[1].known {
		last = length
	}
	if last < 0 || last == 0 && s.bounds[1].derived {
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

func (w *walk) elements(list uint32, first, last, stride int) bool {
	c := w.d.Nodes[list].First
	for i, next := 0, first; i < last; i++ {
		if i%membersPerVisit == 0 && !w.visit(1) {
			return false
		}
		if i == next {
			if !w.push(item{node: c}) {
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

// union appends what each of its members makes of the list.
func (w *walk) union(s *step, lo, hi int) (from, to int, ok bool) {
	from = len(w.items)
	for _, list := range s.lists {
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
