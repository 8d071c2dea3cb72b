package workspace

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine escapes the characters of a text that could change other parts of an output: control characters, such as line
// breaks and the escape character of terminals, those that change the direction of text, and invalid UTF-8. Texts of
// manifests and names of files must pass through it: CI systems run some lines as commands.
func OneLine(text string) string { return escape(text, "") }

// Printable is OneLine for a text that may have several lines and tabs.
func Printable(text string) string { return escape(text, "\n\t") }

// escape is OneLine, but keeps some characters.
func escape(text, keep string) string {
	unsafe := func(r rune) bool { return isUnsafe(r) && !strings.ContainsRune(keep, r) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unsafe) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[i]), 16))
		case unsafe(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isUnsafe reports whether a character can change other parts of an output.
func isUnsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
