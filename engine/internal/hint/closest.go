package hint

// Closest returns the name of a list that was probably meant by another name, "" if none or several are similar.
func Closest(name string, names []string) (closest string) {
	f, best := new(Finder), different
	for _, other := range names {
		switch d := f.difference(name, other); {
		case d < best:
			best, closest = d, other
		case d == best && other != closest:
			closest = ""
		}
		if f.work > maxWork {
			break
		}
	}
	return closest
}
