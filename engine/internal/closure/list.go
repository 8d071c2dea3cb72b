package closure

import (
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
)

// listLiteral compiles [a, b]. It costs 10, or nothing if all elements are constants.
func (c *compiler) listLiteral(e ast.Expr) *expr {
	l := e.AsList()
	if len(l.OptionalIndices()) > 0 {
		c.unsupported("a list with optional elements")
	}
	s := &shape{kind: kindList}
	var constants []val
	elems := make([]valFn, 0, len(l.Elements()))
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
	return &expr{shape: s, v: func(f *Frame) (val, bool) {
		from := len(f.stack)
		for _, x := range elems {
			if v, ok := x(f); !ok || !f.push(v) {
				return val{}, false
			}
		}
		f.Cost += common.ListCreateBaseCost
		return f.store(from)
	}}
}

// concatenated compiles + of lists. Sets and map lists, which upstream joins, are left to the fallback.
func concatenated(a, b *expr) *expr {
	l, r := a.val(), b.val()
	s := &shape{kind: kindList, elem: join(a.shape.element(), b.shape.element())}
	return &expr{shape: s, v: func(f *Frame) (val, bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		if !ok || !also || !isList(x) || !isList(y) || x.kind == kindNode && x.typ().unordered() {
			return val{}, false
		}
		from := len(f.stack)
		for _, list := range [2]val{x, y} {
			for p := f.elements(list); !p.done(); {
				if e, ok := p.take(f); !ok || !f.tick() || !f.push(e) {
					return val{}, false
				}
			}
		}
		return f.store(from)
	}}
}

// elements iterates over a list for which isList holds.
type elements struct {
	node  uint32
	typ   *Type
	cells []val
	ok    bool // false when the outcome is Unknown
}

func (f *Frame) elements(list val) elements {
	if list.kind == kindNode {
		i, t := list.node()
		return elements{node: f.Doc.Nodes[i].First, typ: t.Elem, ok: true}
	}
	return elements{cells: list.span(f), ok: true}
}

// isList reports whether a value is a list of the document or a computed one.
func isList(v val) bool {
	return !v.opt && (v.kind == kindList || v.kind == kindNode && v.typ().Kind == List)
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
