package rule

// Estimates of how long cel-go's checker takes, which grows with the square of an expression's length, and with the fourth power of how deep it nests
// lists and maps: their types are written out at each level. A unit is some nanoseconds at worst, which an expression comes to whose types the
// checker has to find out (dyn), and mostly far less.
const (
	// LongWork is from how much work on an expression is compiled aside.
	LongWork = 1 << 24 // 4 KiB, or 76 levels
	nestWork = 2       // of these a unit
)

// Work estimates what checking an expression takes.
func Work(text string) int64 {
	n := int64(len(text))
	work := n * n
	depth, deepest := int64(0), int64(0)
	for i := range len(text) { // what stands in quotes counts as well: it is an estimate
		switch text[i] {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			if depth = max(0, depth-1); depth == 0 {
				work += deepest * deepest * deepest * deepest / nestWork
				deepest = 0
			}
		}
		if work > LongWork {
			return work
		}
	}
	if Doubles(text) {
		return max(work, LongWork)
	}
	return work
}

// long reports whether an expression may take long to compile.
func long(text string) bool { return Work(text) >= LongWork }
