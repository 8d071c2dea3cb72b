package hint

import (
	"bytes"
	"strings"
)

// Results of difference besides the number of wrong letters, from 1 to 3. The smaller, the more similar.
const (
	sameLetters = 0 // the names differ by case, hyphens, underscores, dots and spaces only
	shortened   = 4 // one name is the beginning of the other
	different   = 5
)

// longestCompared is the length, in bytes, up to which names are compared letter by letter.
const longestCompared = 64

// difference returns how much two names differ.
func (f *Finder) difference(a, b string) int {
	f.work += 2 + (len(a)+len(b))/16
	if !isTypo(a, b) {
		return different
	}
	if strings.EqualFold(a, b) {
		return sameLetters
	}
	if len(a) > longestCompared || len(b) > longestCompared {
		return different
	}
	var buffers [2][longestCompared]byte
	short, long := appendPlain(buffers[0][:0], a), appendPlain(buffers[1][:0], b)
	if len(short) > len(long) {
		short, long = long, short
	}
	most := min(len(short)/3, 1) + min(len(short)/6, 1) + min(len(short)/12, 1) // wrong letters
	switch {
	case len(short) == 0:
		return different
	case bytes.Equal(short, long):
		return sameLetters
	case len(long)-len(short) <= most:
		f.work += len(short) * len(long) / 8
		if d := distance(short, long); d <= most {
			return d
		}
	}
	if len(short) >= 3 && bytes.HasPrefix(long, short) {
		return shortened
	}
	return different
}

// appendPlain appends a name in lower case, without hyphens, underscores, dots and spaces.
func appendPlain(dst []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case 'A' <= c && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		case c != '-' && c != '_' && c != '.' && c != ' ':
			dst = append(dst, c)
		}
	}
	return dst
}

// distance returns how many bytes must be added, removed, changed or swapped with their neighbour to turn a into b.
func distance(a, b []byte) int {
	var rows [3][longestCompared + 1]uint8
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		above[j] = uint8(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = uint8(i)
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return int(above[len(b)])
}

// Nearest returns the most similar of some names. found is false if none is similar, if several are equally similar, and
// if there are too many names to compare.
func Nearest(to string, names []string) (name string, found bool) {
	best, _ := (&Finder{}).nearest(to, names)
	if best < 0 {
		return "", false
	}
	return names[best], true
}

// nearest returns the index of the most similar of the names, and its difference. The index is -1 without a similar name,
// and if several are equally similar. It is also -1 if the work exceeds its bound: a result that depends on how far the
// search came would not be stable.
func (f *Finder) nearest(to string, names []string) (best, least int) {
	best, least = -1, different
	for i, name := range names {
		switch d := f.difference(to, name); {
		case d < least:
			best, least = i, d
		case d == least && best >= 0 && names[best] != name:
			best = -1
		}
		if f.work >= maxWork {
			return -1, different
		}
	}
	return best, least
}

// isTypo reports whether two names can be the same one with typing errors. Digits are no typing errors: 1.10 and 1.20,
// v1 and v2 and 10s and 10m differ in meaning.
func isTypo(a, b string) bool {
	if beginsNumber(a) || beginsNumber(b) {
		return a == b
	}
	for {
		i, j := strings.IndexAny(a, digits), strings.IndexAny(b, digits)
		if i < 0 || j < 0 {
			return i == j
		}
		a, b = a[i:], b[j:]
		restA, restB := strings.TrimLeft(a, digits), strings.TrimLeft(b, digits)
		if a[:len(a)-len(restA)] != b[:len(b)-len(restB)] {
			return false
		}
		a, b = restA, restB
	}
}

const digits = "0123456789"

// beginsNumber reports whether a text begins like a number.
func beginsNumber(s string) bool {
	s = strings.TrimLeft(s, "+-.")
	return s != "" && '0' <= s[0] && s[0] <= '9'
}
