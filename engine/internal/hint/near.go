package hint

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// nearness is how near one name is to another: the smaller, the nearer.
type nearness int

const (
	sameLetters nearness = iota // differ by case only
	samePlain                   // differ by case, hyphens, underscores, dots and spaces only
	samePlural                  // one is the plural of the other
	oneOff                      // one letter is missing, added or wrong, or two are swapped
	twoOff
	threeOff
	shortened // one is the beginning of the other
	far
)

// longestCompared is the length, in bytes, up to which names are compared letter by letter.
const longestCompared = 64

// near returns how near two names are.
func (f *Finder) near(a, b string) nearness {
	f.work += 2 + (len(a)+len(b))/16
	if strings.EqualFold(a, b) {
		return sameLetters
	}
	if len(a) > longestCompared || len(b) > longestCompared {
		return far
	}
	if f.lastName != a {
		f.lastName, f.lastPlain = a, plain(a, nil)
	}
	var buffer [longestCompared]byte
	short, long := f.lastPlain, plain(b, buffer[:0])
	if len(short) > len(long) {
		short, long = long, short
	}
	extra := len(long) - len(short)
	switch most := slips(len(short)); {
	case len(short) == 0 || len(long) > longestCompared: // a lower-case letter may be longer than its upper-case one
		return far
	case bytes.Equal(short, long):
		return samePlain
	case extra <= 2 && isPlural(short, long):
		return samePlural
	case extra <= most:
		d, compared := distance(short, long, most)
		if f.work += compared / 4; d <= most {
			return oneOff + nearness(d-1)
		}
	}
	if len(short) >= 3 && bytes.HasPrefix(long, short) {
		return shortened
	}
	return far
}

// plain appends a name in lower case to dst, without hyphens, underscores, dots and spaces.
func plain(name string, dst []byte) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= utf8.RuneSelf:
			return []byte(withoutHyphens(strings.ToLower(name)))
		case 'A' <= c && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		case c != '-' && c != '_' && c != '.' && c != ' ':
			dst = append(dst, c)
		}
	}
	return dst
}

var withoutHyphens = strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace

// slips returns how many mistakes a name of a length may have and still be recognized.
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

// isPlural reports whether many is the plural of one.
func isPlural(one, many []byte) bool {
	stem, last := one[:len(one)-1], one[len(one)-1]
	switch ending, ok := bytes.CutPrefix(many, one); {
	case ok && string(ending) == "s":
		return true
	case ok && string(ending) == "es":
		return strings.IndexByte("shxz", last) >= 0
	}
	ending, ok := bytes.CutPrefix(many, stem)
	return ok && last == 'y' && string(ending) == "ies"
}

// distance returns how many letters must be added, removed, changed or swapped with their neighbour to turn a into b,
// or some number above most if it is more than that. compared is the number of pairs of letters that were compared.
func distance(a, b []byte, most int) (d, compared int) {
	var rows [3][longestCompared + 1]int
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		above[j] = j
	}
	least := 0 // of the row
	for i := 1; i <= len(a); i++ {
		leastAbove := least
		row[0], least = i, i
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if compared += len(b); least > most && leastAbove >= most { // a swap continues from two rows above
			return most + 1, compared
		}
		before, above, row = above, row, before
	}
	return above[len(b)], compared
}

// nearest returns the nearest of the names, the first of several, for which skip, if not nil, returns false. It returns
// "" if there is none, and if the work exceeds its bound: a result that depends on how far the search came would not be
// stable.
func (f *Finder) nearest(to string, names []string, skip func(string) bool) (best string, how nearness) {
	how = far
	for _, name := range names {
		if f.work >= maxWork {
			return "", far
		}
		if n := f.near(to, name); n < how && (skip == nil || !skip(name)) {
			best, how = name, n
		}
	}
	if f.work >= maxWork {
		return "", far
	}
	return best, how
}

// nearestField returns the field of a target that is nearest to a name.
func (f *Finder) nearestField(of target, to string, skip func(string) bool) (best string, how nearness) {
	best, how = f.nearest(to, of.names(), skip)
	if !of.isResource() {
		return best, how
	}
	name, n := f.nearest(to, resourceFields, skip)
	if f.work >= maxWork {
		return "", far
	}
	if n < how || n == how && name < best {
		return name, n
	}
	return best, how
}
