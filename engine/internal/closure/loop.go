package closure

import (
	"github.com/google/cel-go/common/ast"

	"github.com/crdeval/crdeval/internal/value"
)

// loop goes through a list or a map, of the document or computed, for a macro.
type loop struct {
	// first and second are the macro's variables: the element, or the key; with two of them the index or key, and the element or value.
	first, second *attr

	nodes nodeFn // of the document; nil: computed
	list  bool   // the document's is a list
	vals  valFn
	// node is where the element's node stands, count its number, at and key what was computed.
	node, count, at, key int
	elem                 *Type
	// keys: the one variable is an element or a key, as the value turns out to be a list or a map.
	keys bool
}

// loop declares the variables that a macro's range gives.
func (c *compiler) loop(m ast.ComprehensionExpr, source *expr) *loop {
	two := m.IterVar2() != ""
	l := &loop{count: c.counter()}
	if source.n != nil && source.shape.typ.Elem != nil {
		l.nodes, l.list, l.elem, l.node = source.n, source.shape.kind == shapeList, source.shape.typ.Elem, c.node()
		l.first = variableAttr(l.node, l.elem)
		switch {
		case l.list && two:
			l.first, l.second = c.numberAttr(l.count), l.first
		case !l.list:
			l.first, l.second = keyAttr(l.node), l.first
		}
		return l
	}
	l.vals, l.at, l.key = source.val(), c.variable(), c.variable()
	elem := computedAttr(l.at, source.shape.element())
	switch {
	case source.shape.kind == shapeDyn && !two:
		l.first, l.keys = computedAttr(l.at, dynShape), true
	case source.shape.kind != shapeList && source.shape.kind != shapeMap:
		c.no("a macro with two variables over what may be a list or a map")
	case source.shape.kind == shapeMap:
		l.first, l.second = computedAttr(l.key, dynShape), elem
	case two:
		l.first, l.second = c.numberAttr(l.count), elem
	default:
		l.first = elem
	}
	return l
}

// numberAttr is the index in a list.
func (c *compiler) numberAttr(count int) *attr {
	return &attr{shape: intShape, base: &expr{shape: intShape, w: func(f *Frame) (uint64, bool) { return uint64(f.ints[count]), true }}}
}

// keyAttr is the key of the member that a node is.
func keyAttr(node int) *attr {
	return &attr{shape: stringShape, base: &expr{shape: stringShape, s: func(f *Frame) (str, bool) {
		return str{f.Doc.Key(f.nodes[node]), true}, true
	}}}
}

func computedAttr(at int, s *shape) *attr {
	return &attr{shape: s, optional: s.kind == shapeOptional, base: &expr{shape: s, v: func(f *Frame) (val, bool) { return f.vals[at], true }}}
}

// run calls each for every element until it wants no more. It is false when the outcome is Unknown.
func (l *loop) run(f *Frame, each func(*Frame) (more, ok bool)) bool {
	f.ints[l.count] = 0
	if l.nodes != nil {
		return l.runNodes(f, each)
	}
	v, ok := l.vals(f)
	if !ok {
		return false
	}
	if v, ok = f.open(v); !ok {
		return false
	}
	if v.kind == kindMap || v.kind == kindNode && v.of.(*Type).Kind != List {
		return l.runMap(f, v, each)
	}
	if !isList(v) {
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

// runMap goes through a map that was computed, or that may have been.
func (l *loop) runMap(f *Frame, v val, each func(*Frame) (more, ok bool)) bool {
	if v.kind == kindMap {
		cells := v.span(f)
		if len(cells) > 2 {
			return false // such keys have no order; replays give them one
		}
		for ; len(cells) > 0; cells = cells[2:] {
			f.vals[l.key], f.vals[l.at] = cells[0], cells[1]
			if l.keys {
				f.vals[l.at] = cells[0]
			}
			if more, ok := each(f); !ok || !more || !f.tick() {
				return ok && !more
			}
		}
		return true
	}
	i, t := v.node()
	if t.Kind != Map || t.Elem == nil || f.Doc.Nodes[i].Kind != value.Object {
		return false
	}
	for e := f.Doc.Nodes[i].First; e != 0; e = f.Doc.Nodes[e].Next {
		key := keyVal(f.Doc.Key(e))
		if x, ok := f.read(e, t.Elem); l.keys {
			f.vals[l.at] = key
		} else if f.vals[l.at] = x; !ok {
			return false
		}
		f.vals[l.key] = key
		if !f.tick() {
			return false
		}
		if more, ok := each(f); !ok || !more {
			return ok
		}
	}
	return true
}
