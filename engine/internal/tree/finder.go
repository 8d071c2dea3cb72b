package tree

// Finder finds members and elements like Field and Index, but in constant time. It is for many lookups by path, such as
// those of violations. It is valid until the Doc is edited or reset.
type Finder struct {
	d        *Doc
	children map[uint32]map[Segment]uint32 // of large containers
}

// Finder returns a Finder for the current trees.
func (d *Doc) Finder() *Finder { return &Finder{d: d} }

// Field returns the member of an object with the given key, or 0.
func (f *Finder) Field(object uint32, key string) uint32 { return f.Child(object, Name(key)) }

// Child returns the member or element of one path segment, or 0. Elements have their index in the
// input.
func (f *Finder) Child(parent uint32, s Segment) uint32 {
	n := &f.d.Nodes[parent]
	if n.First == 0 || s.IsIndex() != (n.Kind == Array) {
		return 0
	}
	if s.kind == entry {
		s.kind = named
	}
	known := f.children[parent]
	if known == nil {
		large := n.Live > fewMembers
		if large {
			known = make(map[Segment]uint32, n.Live)
		}
		for c := n.First; c != 0; c = f.d.Nodes[c].Next {
			step := Name(f.d.Key(c))
			if n.Kind == Array {
				step = At(int(f.d.Nodes[c].Key))
			}
			if large {
				known[step] = c
			} else if step == s {
				return c
			}
		}
		if large && f.children == nil {
			f.children = map[uint32]map[Segment]uint32{}
		}
		if large {
			f.children[parent] = known
		}
	}
	return known[s]
}

// Lookup returns the node at a path, or 0.
func (f *Finder) Lookup(root uint32, p Path) uint32 {
	if node, depth := f.Deepest(root, p); depth == len(p) {
		return node
	}
	return 0
}

// Deepest returns the deepest existing node on a path, and how many segments of the path lead to it.
func (f *Finder) Deepest(root uint32, p Path) (node uint32, depth int) {
	for depth < len(p) {
		next := f.Child(root, p[depth])
		if next == 0 {
			break
		}
		root, depth = next, depth+1
	}
	return root, depth
}
