package violation

import "unicode/utf8"

// Shorten returns a text for an error: at most n bytes of it, and … if it is longer.
func Shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
