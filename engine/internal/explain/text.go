package explain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// typeOf returns the type name of a schema: string, Object, []Object, map[string]string, or the name of a definition. A
// single allOf clause overrides the type of its schema.
func (p *printer) typeOf(s object) string {
	if one := member(s, "items"); one != nil {
		return "[]" + p.typeOf(one)
	}
	if one := member(s, "additionalProperties"); one != nil {
		return "map[string]" + p.typeOf(one)
	}
	if all := clauses(s); len(all) == 1 && len(list(s, "allOf")) == 1 && member(s, "properties") == nil {
		return p.typeOf(all[0]) // for an empty clause kubectl fails, and this returns Object
	}
	if ref := text(s, "$ref"); ref != "" {
		if typ := text(p.target(ref), "type"); typ != "" && typ != "object" {
			return typ
		}
		ref = ref[strings.LastIndexByte(ref, '/')+1:]
		if name := ref[strings.LastIndexByte(ref, '.')+1:]; name != "" {
			return name
		}
		return "Object"
	}
	if typ := text(s, "type"); typ != "" && typ != "object" {
		return typ
	}
	return "Object"
}

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
