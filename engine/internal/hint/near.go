package hint

import "strings"

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
const longestCompared = 64

// near says how near two names are.
func (f *Finder) near(a, b string) nearness {
	f.work++
	if strings.EqualFold(a, b) {
		return sameLetters
	}
	if len(a) > longestCompared || len(b) > longestCompared || len(a) == 0 || len(b) == 0 {
		f.work += min(len(a), len(b), longestCompared)
		return far
	}
	f.work += len(a) + len(b)
	a, b = strings.ToLower(a), strings.ToLower(b)
	if plain(a) == plain(b) {
		return samePlain
	}
	if plural(a, b) || plural(b, a) {
		return samePlural
	}
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	if most := slips(len(short)); most > 0 && len(long)-len(short) <= most {
		f.work += len(a) * (2*most + 1)
		if d := distance(a, b, most); d <= most {
			return oneOff + nearness(d-1)
		}
	}
	if len(short) >= 3 && strings.HasPrefix(long, short) {
		return shortened
	}
	return far
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

var hyphens = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

func plain(s string) string {
	if strings.ContainsAny(s, "-_. ") {
		return hyphens.Replace(s)
	}
	return s
}

// plural reports whether the second is the plural of the first.
func plural(one, many string) bool {
	switch {
	case many == one+"s":
		return true
	case strings.HasSuffix(one, "y"):
		return many == one[:len(one)-1]+"ies"
	}
	return many == one+"es" && strings.ContainsAny(one[len(one)-1:], "shxz")
}

// distance is how many letters must be added, taken away, changed or swapped with their neighbour to make of a text the other; where it is more
// than most, some number beyond that. Only what is within most of the diagonal is looked at.
func distance(a, b string, most int) int {
	const beyond = 2 * longestCompared
	var rows [3][longestCompared + 2]int
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-most), min(len(b), i+most)
		row[from-1] = beyond
		if from == 1 {
			row[0] = i
		}
		for j := from; j <= to; j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		row[to+1] = beyond // what the next row sees above its end
		before, above, row = above, row, before
	}
	return above[len(b)]
}

// nearest is the name that is nearest, of several the first; none that is further than most, and none that skip says.
func (f *Finder) nearest(to string, names []string, skip func(string) bool) (best string, how nearness) {
	how = far
	for _, name := range names {
		if f.work >= maxWork {
			return "", far // an answer that depends on how far one came is none
		}
		if n := f.near(to, name); n < how && (skip == nil || !skip(name)) {
			best, how = name, n
		}
	}
	return best, how
}
