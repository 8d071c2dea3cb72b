package tree

// Equal reports whether two values are equal as by reflect.DeepEqual on unstructured data: key order does not matter,
// and the integer 1 is not the float 1.0. Both values may be in the same Doc.
func Equal(a *Doc, i uint32, b *Doc, j uint32) bool {
	m, n := &a.Nodes[i], &b.Nodes[j]
	if m.Kind != n.Kind {
		return false
	}
	switch m.Kind {
	case Int:
		return m.Val == n.Val
	case Float:
		return a.Float(i) == b.Float(j)
	case String:
		return a.Str(i) == b.Str(j)
	case Array:
		if m.Live != n.Live {
			return false
		}
		c, e := m.First, n.First
		for c != 0 && e != 0 {
			if !Equal(a, c, b, e) {
				return false
			}
			c, e = a.Nodes[c].Next, b.Nodes[e].Next
		}
		return c == e // both 0
	case Object:
		return m.Live == n.Live && equalObjects(a, i, b, j)
	}
	return true
}

// equalObjects compares objects with the same number of members. It needs no search while the keys come in the same
// order.
func equalObjects(a *Doc, i uint32, b *Doc, j uint32) bool {
	c, e := a.Nodes[i].First, b.Nodes[j].First
	for c != 0 && e != 0 && a.Key(c) == b.Key(e) {
		if !Equal(a, c, b, e) {
			return false
		}
		c, e = a.Nodes[c].Next, b.Nodes[e].Next
	}
	if c == 0 {
		return true
	}
	f := b.Finder()
	for ; c != 0; c = a.Nodes[c].Next {
		if other := f.Field(j, a.Key(c)); other == 0 || !Equal(a, c, b, other) {
			return false
		}
	}
	return true
}
