package closure

import (
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// collection compiles map, filter and transformList. Each element that is kept costs 10 for the list around it (unless
// it is a constant), 1 for the accumulator and 1 for the addition; the result costs 1.
func (c *compiler) collection(m ast.ComprehensionExpr, source *expr) *expr {
	step, test := m.LoopStep(), ast.Expr(nil)
	if args, ok := isCall(step, operators.Conditional, 3); ok && isIdent(args[2], m.AccuVar()) {
		test, step = args[0], args[1]
	}
	args, ok := isCall(step, operators.Add, 2)
	if !ok || !isIdent(args[0], m.AccuVar()) || args[1].Kind() != ast.ListKind || args[1].AsList().Size() != 1 ||
		!isIdent(m.Result(), m.AccuVar()) {
		c.unsupported("a collection of an unknown macro")
	}
	l := c.loop(m, source)
	keep := always
	var elem *expr
	c.within(m, l, func() {
		if test != nil {
			keep = c.observed(test).bool()
		}
		elem = c.observed(args[1].AsList().Elements()[0])
	})
	cost := uint64(2 + common.ListCreateBaseCost)
	if elem.isConst {
		cost = 2
	}
	slot, v, count := c.list(), elem.val(), c.counter()
	next := func(f *Frame) (e val, kept, ok bool) {
		if kept, ok = keep(f); !ok || !kept {
			return val{}, false, ok
		}
		e, ok = v(f)
		f.Cost += cost
		return e, true, ok
	}
	each := func(f *Frame) (more, ok bool) {
		e, kept, ok := next(f)
		if kept {
			if len(f.lists[slot]) >= maxCells {
				return false, false
			}
			f.lists[slot] = append(f.lists[slot], e)
		}
		return true, ok
	}
	counted := func(f *Frame) (more, ok bool) {
		_, kept, ok := next(f)
		if kept {
			f.ints[count]++
		}
		return true, ok
	}
	return &expr{
		shape: &shape{kind: kindList, elem: elem.shape},
		v: func(f *Frame) (val, bool) {
			f.lists[slot] = f.lists[slot][:0]
			ok := l.run(f, each)
			f.Cost++
			if !ok {
				return val{}, false
			}
			return f.store(f.lists[slot])
		},
		count: func(f *Frame) (uint64, bool) {
			f.ints[count] = 0
			ok := l.run(f, counted)
			f.Cost++
			return uint64(f.ints[count]), ok
		},
	}
}

func always(*Frame) (bool, bool) { return true, true }
