package format

import (
	"strconv"
	"strings"
)

// units are the words for units of time, in families. A prefix of the last word of a family is enough (minutely is a
// minute).
var units = [...][]string{
	{"ns", "nano"},
	{"us", "µs", "micro"},
	{"ms", "milli"},
	{"s", "sec"},
	{"m", "min"},
	{"h", "hr", "hour"},
	{"d", "day"},
	{"w", "wk", "week"},
}

// hasDuration reports whether strfmt.ParseDuration accepts a string that is not a Go duration: it contains a number
// followed by a unit, and every number before a word fits an int. Unlike strfmt it does not collect all numbers first.
func hasDuration(s string) bool {
	found := false
	for i := 0; i < len(s); {
		if !digit(s[i]) {
			i++
			continue
		}
		start := i
		for i < len(s) && digit(s[i]) {
			i++
		}
		number := s[start:i]
		for i < len(s) && space(s[i]) {
			i++
		}
		start = i
		for {
			if i < len(s) && letter(s[i]) {
				i++
			} else if strings.HasPrefix(s[i:], "µ") {
				i += len("µ")
			} else {
				break
			}
		}
		if i == start {
			continue // a number without a word; the next one may have one
		}
		if _, err := strconv.Atoi(number); err != nil {
			return false
		}
		found = found || isUnit(s[start:i])
	}
	return found
}

func isUnit(word string) bool {
	for _, family := range units {
		for _, unit := range family {
			if strings.EqualFold(word, unit) {
				return true
			}
		}
		if stem := family[len(family)-1]; len(word) >= len(stem) && strings.EqualFold(word[:len(stem)], stem) {
			return true
		}
	}
	return false
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }
