package closure

import "github.com/google/cel-go/common/ast"

// loop goes through a list or a map of the document, or through a computed list, for a macro.
type loop struct {
	// first and second are the macro's variables: the element or key; with two variables the index or key, and the element
	// or value.
	first, second *attr

	nodes nodeFn // of the document; nil: computed
	list  bool   // nodes is a list
	vals  valFn
	// The slots of the element's node, of its index, and of a computed element.
	node, count, at int
	elem            *Type
}

// loop prepares the loop over a macro's range and its variables.
func (c *compiler) loop(m ast.ComprehensionExpr, source *expr) *loop {
	two := m.IterVar2() != ""
	l := &loop{count: c.counter()}
	if source.n != nil && source.shape.typ.Elem != nil {
		l.nodes, l.list, l.elem, l.node = source.n, source.shape.kind == kindList, source.shape.typ.Elem, c.node()
		l.first = variableAttr(l.node, l.elem)
		switch {
		case l.list && two:
			l.first, l.second = c.indexAttr(l.count), l.first
		case !l.list:
			l.first, l.second = keyAttr(l.node), l.first
		}
		return l
	}
	l.vals, l.at = source.val(), c.variable()
	elem := computedAttr(l.at, source.shape.element())
	switch {
	case source.shape.kind != kindList:
		c.unsupported("a macro over a computed map, or over what may be a list or a map")
	case two:
		l.first, l.second = c.indexAttr(l.count), elem
	default:
		l.first = elem
	}
	return l
}

// indexAttr is the index in a list.
func (c *compiler) indexAttr(count int) *attr {
	index := func(f *Frame) (uint64, bool) { return uint64(f.ints[count]), true }
	return &attr{shape: intShape, base: &expr{shape: intShape, w: index}}
}

// keyAttr is the key of the member that a node is.
func keyAttr(node int) *attr {
	return &attr{shape: stringShape, base: &expr{shape: stringShape, s: func(f *Frame) (str, bool) {
		return str{f.Doc.Key(f.nodes[node]), true}, true
	}}}
}

func computedAttr(at int, s *shape) *attr {
	value := func(f *Frame) (val, bool) { return f.vals[at], true }
	return &attr{shape: s, optional: s.kind == kindOptional, base: &expr{shape: s, v: value}}
}

// run calls each for every element until it returns no more. It is false when the outcome is Unknown.
func (l *loop) run(f *Frame, each func(*Frame) (more, ok bool)) bool {
	f.ints[l.count] = 0
	if l.nodes != nil {
		return l.runNodes(f, each)
	}
	v, ok := l.vals(f)
	if !ok || !isList(v) {
		return false
	}
	for p := f.elements(v); !p.done(); {
		e, ok := p.take(f)
		if !ok || !f.tick() {
			return false
		}
		f.vals[l.at] = e
		more, ok := each(f)
		if !ok || !more {
			return ok
		}
		f.ints[l.count]++
	}
	return true
}

func (l *loop) runNodes(f *Frame, each func(*Frame) (more, ok bool)) bool {
	i, ok := l.nodes(f)
	if !ok {
		return false
	}
	for e := f.Doc.Nodes[i].First; e != 0; e = f.Doc.Nodes[e].Next {
		if !f.tick() {
			return false
		}
		f.nodes[l.node] = e
		more, ok := each(f)
		if !ok || !more {
			return ok
		}
		f.ints[l.count]++
	}
	return true
}
