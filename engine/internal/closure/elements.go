package closure

// elements goes through a list, of the document or computed; other values have none: callers make sure.
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

// isList reports whether elements can go through a value.
func isList(v val) bool {
	return v.kind == kindList && !v.opt || v.kind == kindNode && !v.opt && v.of.(*Type).Kind == List
}

func (e *elements) done() bool { return e.node == 0 && len(e.cells) == 0 }

// take is the next element. It is false for one that upstream has an error for.
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
