package hint

import (
	"bytes"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/internal/spelling"
)

// How near a name is to another: the smaller, the nearer.
type nearness int

const (
	sameLetters nearness = iota // but for their case
	samePlain                   // but for their case, hyphens and underscores
	samePlural                  // one is the plural of the other
	oneOff                      // a letter is missing, added or wrong, or two are swapped
	twoOff                      // that twice
	threeOff                    // or three times, of long names
	shortened                   // the one is how the other begins
	far
)

// longestCompared is the length, in bytes, up to which names are compared letter by letter.
const longestCompared = spelling.Longest

// near says how near two names are. Most are far from each other, which is seen by their lengths and letters.
func (f *Finder) near(a, b string) nearness {
	f.work += 4 + (len(a)+len(b))/8
	if strings.EqualFold(a, b) {
		return sameLetters
	}
	if len(a) > longestCompared || len(b) > longestCompared || len(a) == 0 || len(b) == 0 {
		return far
	}
	if f.last.of != a {
		f.last = spell(a, nil)
	}
	var buffer [longestCompared]byte
	other := spell(b, buffer[:0])
	if other.foreign {
		f.work += len(a) + len(b)
	}
	if max(len(f.last.lower), len(other.lower)) > longestCompared { // some letters have longer small ones
		return far
	}
	return f.nearSpelled(f.last, other)
}

// nearSpelled is near, of names that differ not by the case of their letters alone.
func (f *Finder) nearSpelled(one, other spelled) nearness {
	a, b := one.lower, other.lower
	if one.hyphens || other.hyphens {
		if f.work += len(a) + len(b); plain(string(a)) == plain(string(b)) {
			return samePlain
		}
	}
	short, long := &one, &other
	if len(short.lower) > len(long.lower) {
		short, long = long, short
	}
	extra := len(long.lower) - len(short.lower)
	if extra <= 2 && plural(short.lower, long.lower) {
		return samePlural
	}
	if most := slips(len(short.lower)); extra <= most && bits.OnesCount64(short.letters&^long.letters) <= most && bits.OnesCount64(long.letters&^short.letters) <= most {
		d, looked := distance(a, b, most)
		if f.work += 8 + 2*looked; d <= most {
			return oneOff + nearness(d-1)
		}
	}
	if len(short.lower) >= 3 && bytes.HasPrefix(long.lower, short.lower) {
		return shortened
	}
	return far
}

// spelled is a name and what is known of it.
type spelled struct {
	of      string
	lower   []byte
	letters uint64 // which letters it has, by their lowest bits: each slip of the pen takes at most one away and adds at most one
	hyphens bool   // it has some that plain takes out
	foreign bool   // it has letters other than ASCII's
}

// smalls are ASCII's letters in small.
var smalls = func() (table [utf8.RuneSelf]byte) {
	for c := range table {
		table[c] = byte(unicode.ToLower(rune(c)))
	}
	return table
}()

// spell reads a name. The letters are put where there is room for them.
func spell(name string, room []byte) spelled {
	s := spelled{of: name}
	if cap(room) < len(name) {
		room = make([]byte, len(name))
	}
	room = room[:len(name)]
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf {
			s.foreign = true
			break
		}
		c = smalls[c]
		room[i] = c
		s.letters |= 1 << (c & 63)
	}
	s.lower = room
	if s.foreign {
		s.lower, s.letters = []byte(strings.ToLower(name)), 0
		for _, c := range s.lower {
			s.letters |= 1 << (c & 63)
		}
	}
	s.hyphens = s.letters&hyphenBits != 0 && strings.ContainsAny(name, hyphenLike)
	return s
}

// slips is how many slips of the pen a name of a length may have and still be itself.
func slips(length int) int {
	switch {
	case length < 3:
		return 0
	case length < 6:
		return 1
	case length < 12:
		return 2
	}
	return 3
}

const (
	hyphenLike = "-_. "
	hyphenBits = 1<<('-'&63) | 1<<('_'&63) | 1<<('.'&63) | 1<<(' '&63)
)

var plain = strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace

// plural reports whether the second is the plural of the first.
func plural(one, many []byte) bool {
	stem, last := one[:len(one)-1], one[len(one)-1]
	ending, ok := bytes.CutPrefix(many, one)
	switch {
	case ok && string(ending) == "s":
		return true
	case last == 'y':
		ending, ok = bytes.CutPrefix(many, stem)
		return ok && string(ending) == "ies"
	}
	return ok && string(ending) == "es" && strings.IndexByte("shxz", last) >= 0
}

// distance is how many letters must be added, taken away, changed or swapped with their neighbour to make of a text the other; where it is more
// than most, some number beyond that. Only what is within most of the diagonal is looked at, row by row until it is clear; looked says how much that was.
func distance(a, b []byte, most int) (d, looked int) {
	const beyond = 2 * longestCompared
	var rows [3][longestCompared + 2]uint8
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range min(len(b), most+1) + 1 {
		above[j] = uint8(j)
	}
	last := 0 // the least of the row above
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-most), min(len(b), i+most)
		of := a[i-1]
		row[from-1] = beyond
		if from == 1 {
			row[0] = uint8(i)
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			change := above[j-1]
			if of != b[j-1] {
				change++
			}
			cell := min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && of == b[j-2] && a[i-2] == b[j-1] {
				cell = min(cell, before[j-2]+1)
			}
			row[j] = cell
			least = min(least, cell)
		}
		looked += to - from + 2
		if int(least) > most && last >= most { // a swap goes on from two rows above
			return beyond, looked
		}
		last = int(least)
		row[to+1] = beyond // what the next row sees above its end
		before, above, row = above, row, before
	}
	return int(above[len(b)]), looked
}

// nearest is the name that is nearest, of several the first; none that is further than most, and none that skip says. There may be an index of the names.
func (f *Finder) nearest(to string, names []string, index *spelling.Index, skip func(string) bool) (best string, how nearness) {
	how = far
	look := func(name string) bool {
		if f.work >= maxWork {
			return false
		}
		if n := f.near(to, name); n < how && (skip == nil || !skip(name)) {
			best, how = name, n
		}
		return true
	}
	if !f.nearby(to, names, index, look) || f.work >= maxWork {
		return "", far // an answer that depends on how far one came is none
	}
	return best, how
}

// nearby looks at the names that may be near to one, or at all, in their order, until look has enough. It says whether it came to the end.
func (f *Finder) nearby(to string, names []string, index *spelling.Index, look func(string) bool) bool {
	if index != nil {
		near, looked, ok := index.Near(to, slips(len(to)), maxWork-f.work, f.room)
		if ok {
			if f.work += 16 + looked; f.work >= maxWork {
				return false
			}
			f.room = near
			for i := range near.All() {
				if !look(names[i]) {
					return false
				}
			}
			return true
		}
	}
	for _, name := range names {
		if !look(name) {
			return false
		}
	}
	return true
}

// nearestField is the field of a place that is nearest to a name.
func (f *Finder) nearestField(of place, to string, skip func(string) bool) (best string, how nearness) {
	names, index := of.names()
	best, how = f.nearest(to, names, index, skip)
	if !of.isResource() {
		return best, how
	}
	name, n := f.nearest(to, resourceFields, nil, skip)
	if f.work >= maxWork {
		return "", far
	}
	if n < how || n == how && name < best {
		return name, n
	}
	return best, how
}
