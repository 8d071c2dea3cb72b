package explain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wrap breaks lines at white space to at most limit characters, except for longer words. It drops white space at breaks
// and beyond the limit. It keeps existing line breaks.
// (github.com/mitchellh/go-wordwrap, which kubectl uses)
func wrap(limit int, s string) string {
	var out strings.Builder
	out.Grow(len(s) + len(s)/limit)
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		wrapLine(&out, limit, line)
	}
	return out.String()
}

func wrapLine(out *strings.Builder, limit int, line string) {
	column := 0
	for line != "" {
		blank := len(line) - len(strings.TrimLeftFunc(line, isBlank))
		spaces := line[:blank]
		line = line[blank:]
		end := strings.IndexFunc(line, isBlank)
		if end < 0 {
			end = len(line)
		}
		word := line[:end]
		line = line[end:]

		at := column + utf8.RuneCountInString(spaces)
		length := utf8.RuneCountInString(word)
		switch {
		case word == "": // end of line
			if at <= limit {
				out.WriteString(spaces)
			}
		case at+length > limit && at > 1:
			// A word longer than the limit also moves to a new line, unless only a single space precedes it.
			out.WriteByte('\n')
			out.WriteString(word)
			column = length
		default:
			out.WriteString(spaces)
			out.WriteString(word)
			column = at + length
		}
	}
}

func isBlank(c rune) bool {
	const noBreak = '\u00a0'
	return unicode.IsSpace(c) && c != noBreak
}

// indent adds a margin to every line.
func indent(margin int, s string) string {
	pad := strings.Repeat(" ", margin)
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad)
}
