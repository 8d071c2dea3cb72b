package api

import (
	"strings"
	"unicode/utf8"
)

// valid makes text UTF-8, which messages demand: upstream's texts quote what callers send, and may quote half a character.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// allValid is valid for each of a list. The list is copied only where it must be.
func allValid(texts []string) []string {
	for i, t := range texts {
		if !utf8.ValidString(t) {
			fixed := append([]string(nil), texts...)
			for j := i; j < len(fixed); j++ {
				fixed[j] = valid(fixed[j])
			}
			return fixed
		}
	}
	return texts
}
