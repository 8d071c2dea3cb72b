package closure

import (
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
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

// dynOf compiles dyn, which changes nothing.
func dynOf(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 {
		return nil
	}
	x := charged(args[0], 1)
	return &expr{shape: dynShape, v: x.val()}
}

// typeOf compiles type of what may be several things.
func typeOf(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 {
		return nil
	}
	v := args[0].val()
	return &expr{shape: opaqueShape, v: func(f *Frame) (val, bool) {
		r, ok := v(f)
		f.Cost++
		if !ok || r.opt {
			return val{}, false
		}
		switch r.kind {
		case kindNode:
			if r.of.(*Type).Kind == List {
				return typeVals[kindList], true
			}
			return typeVals[kindMap], true
		case kindRef:
			p, ok := r.of.(ref.Val)
			if !ok {
				return val{}, false
			}
			t, ok := p.Type().(ref.Val)
			return refVal(t), ok
		}
		return typeVals[r.kind], true
	}}
}

var typeVals = [...]val{
	kindNull: refVal(types.NullType), kindBool: refVal(types.BoolType), kindInt: refVal(types.IntType), kindUint: refVal(types.UintType),
	kindDouble: refVal(types.DoubleType), kindString: refVal(types.StringType), kindBytes: refVal(types.BytesType), kindDuration: refVal(types.DurationType),
	kindList: refVal(types.ListType), kindMap: refVal(types.MapType),
}
