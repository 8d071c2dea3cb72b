package closure

// valuePlace compiles an attribute with values that are not nodes, or with optional steps. A step that finds nothing
// costs nothing; it ends an optional attribute, and is an error of others.
func (c *compiler) valuePlace(a *attr, extra uint64) *expr {
	base := a.base
	if base == nil {
		node, t := a.node, a.typ
		base = &expr{v: func(f *Frame) (val, bool) { return f.read(f.nodes[node], t) }}
	}
	start, steps, mayBeOptional := base.val(), a.steps, a.optional
	if mayBeOptional && a.shape.elem != nil && a.shape.elem.kind == kindOptional {
		c.unsupported("an optional of an optional")
	}
	return &expr{shape: a.shape, v: func(f *Frame) (val, bool) {
		v, ok := start(f)
		f.Cost += extra
		if !ok || v.opt && !mayBeOptional || v.kind == kindNone {
			return v, ok && mayBeOptional
		}
		optional := v.opt
		v.opt = false
		for i := range steps {
			optional = optional || steps[i].optional
			var present bool
			if v, present, ok = f.follow(v, &steps[i]); !ok || v.opt && (mayBeOptional || i < len(steps)-1) {
				return val{}, false
			}
			if !present {
				return noneVal, optional
			}
			f.Cost++
		}
		v.opt = v.opt || mayBeOptional
		return v, true
	}}
}

// follow follows a step from a value. present is false for a missing member or element; ok is false where upstream has
// an error.
func (f *Frame) follow(v val, s *step) (to val, present, ok bool) {
	switch v.kind {
	case kindNode:
		i, t := v.node()
		known := s
		if s.from != t {
			if known = s.on(t); known == nil {
				return val{}, false, false
			}
		}
		m, ok := f.probe(i, known)
		if !ok || m == 0 {
			return val{}, false, ok
		}
		to, ok = f.read(m, known.to)
		return to, true, ok
	case kindList:
		if s.by == nil {
			return val{}, false, false
		}
		key, ok := s.by(f)
		if !ok || !key.is(kindInt) {
			return val{}, false, false
		}
		cells, at := v.span(f), int64(key.word)
		if at < 0 || at >= int64(len(cells)) {
			return val{}, false, true
		}
		return cells[at], true, true
	}
	return val{}, false, false
}

// on binds the step to the type of a value. It is nil if there is no such member or element.
func (s *step) on(t *Type) *step {
	known := *s
	known.member, known.from, known.to = nil, t, t.Elem
	if t.Kind == Object {
		m := t.Identified(s.name)
		if s.by != nil || m == nil {
			return nil
		}
		known.name, known.to = m.Name, m.Type
		if m.Slot != NoSlot {
			known.member = m
		}
	}
	if known.to == nil {
		return nil
	}
	return &known
}
