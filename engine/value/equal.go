package value

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
// order. After the first difference it searches small objects and indexes large ones.
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
	var index map[string]uint32
	if b.Nodes[j].Live > fewMembers {
		index = make(map[string]uint32, b.Nodes[j].Live)
		for x := e; x != 0; x = b.Nodes[x].Next {
			index[b.Key(x)] = x
		}
	}
	for ; c != 0; c = a.Nodes[c].Next {
		other := uint32(0)
		if index != nil {
			other = index[a.Key(c)]
		} else {
			for x := e; x != 0 && other == 0; x = b.Nodes[x].Next {
				if a.Key(c) == b.Key(x) {
					other = x
				}
			}
		}
		if other == 0 || !Equal(a, c, b, other) {
			return false
		}
	}
	return true
}
