package webhook

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of an API server for warnings, in code points (apiserver's pkg/endpoints/filters/warning.go). If all texts together are
// longer than maxWarnings, each is cut to maxWarning, and those beyond maxWarnings are dropped. It also drops texts with control characters.
const (
	maxWarnings = 4 * 1024
	maxWarning  = 256
)

// bounded returns the warnings that reach the client: each once and printable. If some are left out, the last one says how many.
func bounded(all []string) []string {
	unique, length := make([]string, 0, len(all)), 0
	seen := make(map[string]bool, len(all))
	for _, w := range all {
		if w = Printable(w); w == "" || seen[w] {
			continue
		}
		seen[w] = true
		unique = append(unique, w)
		length += utf8.RuneCountInString(w)
	}
	if length <= maxWarnings {
		if len(unique) == 0 {
			return nil
		}
		return unique
	}
	const noteLength = 64
	length = 0
	for i, w := range unique {
		unique[i] = Cut(w, maxWarning)
		length += utf8.RuneCountInString(unique[i])
		if length > maxWarnings-noteLength {
			return append(unique[:i], fmt.Sprintf("%d more warnings were left out", len(unique)-i))
		}
	}
	return unique
}

// Printable replaces control characters and invalid UTF-8.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// Cut shortens a text to most code points.
func Cut(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}
