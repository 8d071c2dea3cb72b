package closure

import (
	"github.com/google/cel-go/common"
)

// setRelation compiles sets.contains, sets.intersects and sets.equivalent: 1 and the product of the lists' sizes, twice for equivalent, before anything is compared
// (cel-go's ext/sets.go).
func setRelation(_ *compiler, k callee, args []*expr) *expr {
	if len(args) != 2 || k.overload == "" {
		return nil
	}
	l, r := args[0].val(), args[1].val()
	factor := uint64(1)
	relation := (*Frame).containsAll
	switch k.name {
	case "sets.intersects":
		relation = (*Frame).intersects
	case "sets.equivalent":
		factor = 2
		relation = func(f *Frame, a, b val) (bool, bool) {
			if holds, ok := f.containsAll(a, b); !ok || !holds {
				return holds, ok
			}
			return f.containsAll(b, a)
		}
	}
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		a, ok := l(f)
		b, also := r(f)
		if !ok || !also || !isList(a) || !isList(b) {
			return false, false
		}
		f.Cost += 1 + factor*f.size(a)*f.size(b)
		if f.Cost > f.Limit {
			return false, false
		}
		return relation(f, a, b)
	}}
}

// containsAll reports whether a list has all elements of the other.
func (f *Frame) containsAll(list, sub val) (holds, ok bool) {
	for p := f.elements(sub); !p.done(); {
		e, ok := p.take(f)
		if !ok {
			return false, false
		}
		if in, ok := f.contains(list, e); !ok || !in {
			return false, ok
		}
	}
	return true, true
}

func (f *Frame) intersects(a, b val) (holds, ok bool) {
	for p := f.elements(a); !p.done(); {
		e, ok := p.take(f)
		if !ok {
			return false, false
		}
		if in, ok := f.contains(b, e); !ok || in {
			return in, ok
		}
	}
	return false, true
}

// contains reports whether a list has an element. Upstream compares until it finds one, and has an error where an element is none.
func (f *Frame) contains(list, want val) (in, ok bool) {
	for p := f.elements(list); !p.done(); {
		e, ok := p.take(f)
		if !ok || !f.tick() {
			return false, false
		}
		a, b := e, want
		if list.kind == kindList { // cel-go's own lists ask the one that is sought
			a, b = want, e
		}
		if same, ok := f.equal(a, b, false); same || !ok {
			return same, ok
		}
	}
	return false, true
}

// listsRange compiles lists.range: 11 and the length of its list.
func listsRange(c *compiler, _ callee, args []*expr) *expr {
	n, slot := args[0].val(), c.list()
	return &expr{shape: &shape{kind: shapeList, elem: intShape}, v: func(f *Frame) (val, bool) {
		v, ok := n(f)
		w := v.word
		if !ok || v.kind != kindInt || v.opt || w > maxCells {
			return val{}, false
		}
		f.Cost += w + 1 + common.ListCreateBaseCost
		if f.Cost > f.Limit {
			return val{}, false
		}
		acc := f.lists[slot][:0]
		for i := range int64(w) {
			acc = append(acc, intVal(i))
		}
		f.lists[slot] = acc
		return f.store(kindList, acc)
	}}
}
