package plan

import "hash/maphash"

// nameIndex finds the slot of a property by name: an open-addressed hash table. It is built for nodes with many names. A
// Go map takes some ten nanoseconds more for each member of an object.
type nameIndex struct {
	mask  uint64
	slots []uint16 // slot+1; 0 is empty
}

const indexFrom = 9

func newNameIndex(names []string) *nameIndex {
	if len(names) < indexFrom {
		return nil
	}
	size := uint64(8)
	for size < uint64(len(names))*2 {
		size *= 2
	}
	x := &nameIndex{mask: size - 1, slots: make([]uint16, size)}
	for i, name := range names {
		h := x.home(name)
		for x.slots[h] != 0 {
			h = (h + 1) & x.mask
		}
		x.slots[h] = uint16(i + 1)
	}
	return x
}

// home returns the start of the search for a name. It is seeded, so that nobody can choose names that collide.
func (x *nameIndex) home(name string) uint64 { return maphash.String(seed, name) & x.mask }

// find returns the slot of a declared property.
func (n *Node) find(name string) (int, bool) {
	x := n.index
	if x == nil {
		for i, s := range n.Names {
			if s == name {
				return i, true
			}
		}
		return 0, false
	}
	for h := x.home(name); x.slots[h] != 0; h = (h + 1) & x.mask {
		if i := int(x.slots[h] - 1); n.Names[i] == name {
			return i, true
		}
	}
	return 0, false
}
