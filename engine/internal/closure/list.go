package closure

import (
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
)

// listLiteral compiles [a, b]. It costs 10, or nothing if all elements are constants.
func (c *compiler) listLiteral(e ast.Expr) *expr {
	l := e.AsList()
	s := shapeOf(c.ast.GetType(e.ID()))
	var constants []val
	elems := make([]valFn, 0, len(l.Elements()))
	if len(l.OptionalIndices()) > 0 {
		c.unsupported("a list with optional elements")
	}
	for i, x := range l.Elements() {
		y := c.observed(x)
		if y.isConst {
			constants = append(constants, y.constant)
		}
		if i == 0 {
			s.elem = y.shape
		}
		s.elem = join(s.elem, y.shape)
		elems = append(elems, y.val())
	}
	if len(constants) == len(elems) {
		return constExpr(s, constantList(constants))
	}
	slot := c.list()
	return &expr{shape: s, v: func(f *Frame) (val, bool) {
		acc := f.lists[slot][:0]
		for _, x := range elems {
			v, ok := x(f)
			if !ok {
				return val{}, false
			}
			acc = append(acc, v)
		}
		f.lists[slot] = acc
		f.Cost += common.ListCreateBaseCost
		return f.store(acc)
	}}
}

// concatenatedLists compiles + of lists. Sets and map lists, which upstream joins, are left to the fallback.
func (c *compiler) concatenatedLists(a, b *expr) *expr {
	l, r, slot := a.val(), b.val(), c.list()
	s := &shape{kind: kindList, elem: join(a.shape.element(), b.shape.element())}
	return &expr{shape: s, v: func(f *Frame) (val, bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		if !ok || !also || !isList(x) || !isList(y) || x.kind == kindNode && x.of.(*Type).unordered() {
			return val{}, false
		}
		acc := f.lists[slot][:0]
		for _, list := range [2]val{x, y} {
			for p := f.elements(list); !p.done(); {
				e, ok := p.take(f)
				if !ok || !f.tick() || len(acc) > maxCells {
					return val{}, false
				}
				acc = append(acc, e)
			}
		}
		f.lists[slot] = acc
		return f.store(acc)
	}}
}

// elements iterates over a list for which isList holds.
type elements struct {
	node  uint32
	typ   *Type
	cells []val
}

func (f *Frame) elements(list val) elements {
	if list.kind == kindNode {
		i, t := list.node()
		return elements{node: f.Doc.Nodes[i].First, typ: t.Elem}
	}
	return elements{cells: list.span(f)}
}

// isList reports whether a value is a list of the document or a computed one.
func isList(v val) bool {
	return !v.opt && (v.kind == kindList || v.kind == kindNode && v.of.(*Type).Kind == List)
}

func (e *elements) done() bool { return e.node == 0 && len(e.cells) == 0 }

// take returns the next element. It is false for an element that upstream has an error for.
func (e *elements) take(f *Frame) (val, bool) {
	if e.node == 0 {
		v := e.cells[0]
		e.cells = e.cells[1:]
		return v, true
	}
	i := e.node
	e.node = f.Doc.Nodes[i].Next
	if e.typ == nil {
		return val{}, false
	}
	return f.read(i, e.typ)
}
