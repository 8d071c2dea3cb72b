package webhook

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What an API server sends of warnings (apiserver's pkg/endpoints/filters/warning.go), in code points: texts of so many altogether as they are; once there are more, each is cut
// to maxWarning and what comes after as many again is dropped. A text with a control character is dropped silently.
const (
	maxWarnings = 4 * 1024
	maxWarning  = 256
)

// bounded are the warnings that reach the client: each once, printable, and where not all of them do, the last one says how many more there were.
func bounded(all []string) []string {
	kept, length := make([]string, 0, len(all)), 0
	told := make(map[string]bool, len(all))
	for _, w := range all {
		if w = printable(w); w == "" || told[w] {
			continue
		}
		told[w] = true
		kept = append(kept, w)
		length += utf8.RuneCountInString(w)
	}
	if length <= maxWarnings {
		if len(kept) == 0 {
			return nil
		}
		return kept
	}
	const room = 64 // for the note
	length = 0
	for i, w := range kept {
		kept[i] = cut(w, maxWarning)
		length += utf8.RuneCountInString(kept[i])
		if length > maxWarnings-room {
			return append(kept[:i], fmt.Sprintf("%d more warnings were left out", len(kept)-i))
		}
	}
	return kept
}

// printable replaces what a header cannot have.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// cut shortens a text to so many code points.
func cut(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}
