package value

// Finder finds members and elements like Field and Index, but in constant time. It is for many lookups by path, such as
// those of violations. It is valid until the Doc is edited or reset.
type Finder struct {
	d        *Doc
	members  map[uint32]map[string]uint32
	elements map[uint32]map[int]uint32
}

// Finder returns a Finder for the current trees.
func (d *Doc) Finder() *Finder { return &Finder{d: d} }

// fewChildren is the number of children up to which a linear search is used.
const fewChildren = 16

// Field returns the member of an object with the given key, or 0 if there is none.
func (f *Finder) Field(object uint32, key string) uint32 {
	n := &f.d.Nodes[object]
	if n.Kind != Object || n.Live <= fewChildren {
		return f.d.Field(object, key)
	}
	known := f.members[object]
	if known == nil {
		known = make(map[string]uint32, n.Live)
		for c := n.First; c != 0; c = f.d.Nodes[c].Next {
			known[f.d.Key(c)] = c
		}
		if f.members == nil {
			f.members = map[uint32]map[string]uint32{}
		}
		f.members[object] = known
	}
	return known[key]
}

// Element returns the element of an array with the given index in the input, or 0 if there is none.
func (f *Finder) Element(array uint32, at int) uint32 {
	n := &f.d.Nodes[array]
	if n.Kind != Array || n.Live <= fewChildren {
		return f.d.Lookup(array, Path{At(at)})
	}
	known := f.elements[array]
	if known == nil {
		known = make(map[int]uint32, n.Live)
		for c := n.First; c != 0; c = f.d.Nodes[c].Next {
			known[int(f.d.Nodes[c].Key)] = c
		}
		if f.elements == nil {
			f.elements = map[uint32]map[int]uint32{}
		}
		f.elements[array] = known
	}
	return known[at]
}

// Child returns the member or element of one path segment, or 0 if there is none.
func (f *Finder) Child(parent uint32, s Segment) uint32 {
	if s.kind == index {
		return f.Element(parent, int(s.at))
	}
	return f.Field(parent, s.key)
}

// Lookup returns the node at a path, or 0 if there is none.
func (f *Finder) Lookup(root uint32, p Path) uint32 {
	for _, s := range p {
		if root = f.Child(root, s); root == 0 {
			return 0
		}
	}
	return root
}

// Deepest returns the node at a path, or its deepest existing ancestor.
func (f *Finder) Deepest(root uint32, p Path) uint32 {
	for _, s := range p {
		next := f.Child(root, s)
		if next == 0 {
			break
		}
		root = next
	}
	return root
}
