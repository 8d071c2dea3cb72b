package value

// Finder finds members and elements of a Doc's trees like Field and Index, but in constant time however many there are:
// what many violations, each with a path of its own, need. It holds for as long as the Doc is neither edited nor reset.
type Finder struct {
	d        *Doc
	members  map[uint32]map[string]uint32
	elements map[uint32]map[int]uint32
}

// Finder returns a Finder of the trees as they are now.
func (d *Doc) Finder() *Finder { return &Finder{d: d} }

// fewChildren is up to how many children are searched one by one.
const fewChildren = 16

// Field is the member of an object with the key, 0 if it has none or is no object.
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

// Element is the element of an array with the index of the input, 0 if it has none or is no array.
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

// Child is the member or element to which a segment leads, 0 if there is none.
func (f *Finder) Child(parent uint32, s Segment) uint32 {
	if s.kind == index {
		return f.Element(parent, int(s.at))
	}
	return f.Field(parent, s.key)
}

// Lookup follows a path from a root and returns the node there, 0 if there is none.
func (f *Finder) Lookup(root uint32, p Path) uint32 {
	for _, s := range p {
		if root = f.Child(root, s); root == 0 {
			return 0
		}
	}
	return root
}

// Deepest is the node to which a path leads, or its deepest ancestor that is there.
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
