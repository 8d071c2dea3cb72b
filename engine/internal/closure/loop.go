package closure

import "github.com/google/cel-go/common/ast"

// loop goes through a list or a map of the document, or through a computed list, for a macro.
type loop struct {
	first *attr // the macro's variable: the element or key

	nodes nodeFn // of the document; nil: computed
	vals  valFn
	at    int // the slot of the element's node or of a computed element
}

// loop prepares the loop over a macro's range and its variable.
func (c *compiler) loop(m ast.ComprehensionExpr, source *expr) *loop {
	l := &loop{}
	switch {
	case m.IterVar2() != "":
		c.unsupported("a macro with two variables")
	case source.n != nil && source.shape.typ.Elem != nil:
		l.nodes, l.at = source.n, c.node()
		l.first = variableAttr(l.at, source.shape.typ.Elem)
		if source.part != nil {
			c.paths[l.at] = source.part.path + "\xff"
		}
		if source.shape.kind == kindMap {
			l.first = keyAttr(l.at)
			c.reads.any = true
		}
	case source.shape.kind == kindList:
		l.vals, l.at = source.val(), c.variable()
		l.first = computedAttr(l.at, source.shape.element())
	default:
		c.unsupported("a macro over a computed map, or over what may be a list or a map")
	}
	return l
}

// keyAttr is the key of the member that a node is.
func keyAttr(node int) *attr {
	return &attr{shape: stringShape, base: &expr{shape: stringShape, v: func(f *Frame) (val, bool) {
		return keyVal(f.Doc.Key(f.nodes[node])), true
	}}}
}

// computedAttr is a variable whose value is in a slot of the frame.
func computedAttr(at int, s *shape) *attr {
	value := func(f *Frame) (val, bool) { return f.vals[at], true }
	return &attr{shape: s, optional: s.kind == kindOptional, base: &expr{shape: s, v: value}}
}

// start returns the elements to go through. Their field ok is false when the outcome is Unknown.
func (l *loop) start(f *Frame) (p elements) {
	if l.nodes != nil {
		var i uint32
		i, p.ok = l.nodes(f)
		p.node = f.Doc.Nodes[i].First
		return p
	}
	v, ok := l.vals(f)
	if !ok || !isList(v) {
		return p
	}
	return f.elements(v)
}

// next sets the variables to the next element. It returns false behind the last one and when the outcome is Unknown.
func (l *loop) next(f *Frame, p *elements) bool {
	switch {
	case !p.ok || p.done():
		return false
	case l.nodes != nil:
		f.nodes[l.at], p.node = p.node, f.Doc.Nodes[p.node].Next
	default:
		f.vals[l.at], p.ok = p.take(f)
	}
	p.ok = p.ok && f.tick()
	return p.ok
}
