package plan

import "hash/maphash"

// nameIndex finds the slot of a property by name: an open-addressed hash table over the name's length and four of its
// bytes. It is built for nodes with many names.
type nameIndex struct {
	mask  uint32
	whole bool     // hash all bytes: the quick hash has too many collisions
	slots []uint16 // slot+1; 0 is empty
}

const (
	indexFrom = 9
	// longestProbe is how many names find may compare with the quick hash.
	longestProbe = 32
)

func nameHash(s string) uint32 {
	n := uint32(len(s))
	if n == 0 {
		return 0
	}
	h := n*0x9E3779B1 ^ uint32(s[0])*0x85EBCA6B ^ uint32(s[n-1])*0xC2B2AE35 ^ uint32(s[n/2])*0x27D4EB2F ^ uint32(
		s[n/4])*0x165667B1
	return h ^ h>>15
}

// home returns the start of the search for a name.
func (x *nameIndex) home(name string) uint32 {
	if x.whole {
		return uint32(maphash.String(seed, name)) & x.mask
	}
	return nameHash(name) & x.mask
}

func newNameIndex(names []string) *nameIndex {
	if len(names) < indexFrom {
		return nil
	}
	size := uint32(8)
	for size < uint32(len(names))*2 {
		size *= 2
	}
	x := &nameIndex{mask: size - 1, slots: make([]uint16, size)}
	if !x.fill(names, longestProbe) {
		clear(x.slots)
		x.whole = true
		x.fill(names, len(names))
	}
	return x
}

// fill adds the names. It returns false if a search would exceed longestProbe.
func (x *nameIndex) fill(names []string, most int) bool {
	for i, s := range names {
		h := x.home(s)
		for probes := 0; x.slots[h] != 0; probes++ {
			if probes > most {
				return false
			}
			h = (h + 1) & x.mask
		}
		x.slots[h] = uint16(i + 1)
	}
	return true
}

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
