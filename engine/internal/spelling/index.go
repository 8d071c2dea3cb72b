package spelling

import (
	"cmp"
	"math/bits"
	"slices"
	"unicode/utf8"
)

const (
	// indexFrom is from how many names on there is an index: fewer are compared in no time.
	indexFrom = 24
	// mostNames is how many there can be.
	mostNames = 1<<16 - 1
	// Longest is the length, in bytes, up to which names are compared letter by letter.
	Longest = 64
)

// Index is of a list of names. It is immutable.
type Index struct {
	names []string
	// Those that are known, by length, in letters without hyphens and the like; names of one length stand in the order of the list.
	slots   []uint16 // where in the list
	sketch  []sketch
	from    [Longest + 2]uint16
	heads   []uint16 // where in the list, by how they begin
	foreign []uint16 // names with letters other than ASCII's, and those that are too long for all this: they may be near to anything
}

// New returns an index of a list of names, which it keeps, nil if they are too few for one, or too many.
func New(names []string) *Index {
	if len(names) < indexFrom || len(names) > mostNames {
		return nil
	}
	x := &Index{names: names}
	read, lengths := make([]sketch, len(names)), make([]int, len(names))
	known := 0
	for i, name := range names {
		var ok bool
		if read[i], lengths[i], ok = draw(name); !ok {
			lengths[i] = -1
			x.foreign = append(x.foreign, uint16(i))
			continue
		}
		x.from[lengths[i]+1]++
		known++
	}
	x.foreign = slices.Clip(x.foreign)
	for i := range Longest {
		x.from[i+2] += x.from[i+1]
	}
	x.slots, x.sketch, x.heads = make([]uint16, known), make([]sketch, known), make([]uint16, 0, known)
	next := x.from
	for i, length := range lengths {
		if length < 0 {
			continue
		}
		at := next[length]
		next[length]++
		x.slots[at], x.sketch[at] = uint16(i), read[i]
		x.heads = append(x.heads, uint16(i))
	}
	slices.SortStableFunc(x.heads, func(a, b uint16) int { return cmp.Compare(head(names[a]), head(names[b])) })
	return x
}

// Size is how many bytes an index takes beside the names; nil is none.
func (x *Index) Size() int64 {
	if x == nil {
		return 0
	}
	const self = 5*24 + 2*(Longest+2)
	return self + int64(cap(x.slots)+cap(x.heads)+cap(x.foreign))*2 + int64(cap(x.sketch))*16
}

// Near returns the places of all names that may be a given one with up to so many slips of the pen, its plural or singular, its beginning or what begins with it, or itself but
// for case, hyphens and the like; and of a few others. room is memory for the set. looked is how much work it was, in names; beyond most it ends and the set is of no use. ok is
// false for a name of which the index knows nothing: it may be near to any.
func (x *Index) Near(name string, slips, most int, room Set) (near Set, looked int, ok bool) {
	key, length, ok := draw(name)
	if !ok {
		return nil, 0, false
	}
	reach := max(slips, 2) // a plural has up to two letters more
	from, to := x.from[max(length-reach, 0)], x.from[min(length+reach, Longest)+1]
	if looked = int(to-from) + len(x.foreign) + len(x.names)/64; looked > most {
		return nil, looked, true
	}
	words := (len(x.names) + 63) / 64
	near = slices.Grow(room[:0], words)[:words]
	clear(near)
	for _, i := range x.foreign {
		near.add(i)
	}
	for i, other := range x.sketch[from:to] {
		if key.like(other, slips) {
			near.add(x.slots[int(from)+i])
		}
	}
	first := head(name)
	at, _ := slices.BinarySearchFunc(x.heads, first, func(i uint16, h uint32) int { return cmp.Compare(head(x.names[i]), h) })
	for ; at < len(x.heads) && looked <= most && head(x.names[x.heads[at]]) == first; at++ {
		looked += 1 + len(name)/4
		if i := x.heads[at]; begins(x.names[i], name) {
			near.add(i)
		}
	}
	return near, looked, true
}

// sketch is what is known of a name: which letters it has, and which follow one another, by bits that some of them share.
type sketch struct{ letters, pairs uint64 }

// A slip of the pen takes at most one letter away and adds at most one. It takes away up to three pairs, and adds as many: two letters that change places do.
const pairsOfSlip = 3

// plurals are the letters in which a word and its plural may differ: s, es, y and ies. No more than pairsOfSlip pairs differ.
const plurals = 1<<('s'&63) | 1<<('e'&63) | 1<<('i'&63) | 1<<('y'&63)

// like says whether the one may be the other with so many slips, or its plural.
func (s sketch) like(other sketch, slips int) bool {
	letters, pairs := s.letters^other.letters, s.pairs^other.pairs
	if letters&^plurals != 0 && (bits.OnesCount64(letters&s.letters) > slips || bits.OnesCount64(letters&other.letters) > slips) {
		return false
	}
	most := pairsOfSlip * max(slips, 1)
	return bits.OnesCount64(pairs&s.pairs) <= most && bits.OnesCount64(pairs&other.pairs) <= most
}

// draw reads a name: its letters in small, without hyphens and the like, and how many these are.
func draw(name string) (s sketch, length int, ok bool) {
	if len(name) > Longest {
		return s, 0, false
	}
	before := uint32(0)
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf {
			return s, 0, false
		}
		if c == '-' || c == '_' || c == '.' || c == ' ' {
			continue
		}
		c = small(c)
		s.letters |= 1 << (c & 63)
		if length++; length > 1 {
			s.pairs |= 1 << ((before*0x9E3779B1 ^ uint32(c)*0x85EBCA6B) >> 26)
		}
		before = uint32(c)
	}
	return s, length, true
}

func small(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// head is how a name begins: three letters in small.
func head(name string) (h uint32) {
	for i := range min(len(name), 3) {
		h |= uint32(small(name[i])) << (16 - 8*i)
	}
	return h
}

// begins says whether one of two names begins with the other, but for case.
func begins(a, b string) bool {
	for i := range min(len(a), len(b)) {
		if small(a[i]) != small(b[i]) {
			return false
		}
	}
	return true
}
