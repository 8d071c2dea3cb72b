package terminal

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine escapes the characters of a text that could change other parts of an output: control characters, such as line
// breaks and the escape character of terminals, those that change the direction of text, and invalid UTF-8. It also
// escapes commands of CI systems, such as ##[. Outputs must escape texts of manifests and names of files with it.
func OneLine(text string) string { return escape(text, "") }

// Printable is OneLine for a text that may have several lines and tabs.
func Printable(text string) string { return escape(text, "\n\t") }

// PrintableJSON is Printable for JSON. The escapes are those of strings in JSON, so its values do not change.
func PrintableJSON(text string) string {
	if !strings.ContainsFunc(text, isUnsafeIn("\n\r\t")) && !strings.Contains(text, "##") {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isUnsafe(r) && !strings.ContainsRune("\n\r\t", r) {
			fmt.Fprintf(&b, `\u%04x`, r) // all are in the basic plane
		} else {
			b.WriteRune(r)
		}
	}
	return ciCommand.ReplaceAllString(b.String(), `#\u0023$1`)
}

// ciCommand matches the start of a command that CI systems run anywhere in a line: ##[, ##vso[.
var ciCommand = regexp.MustCompile(`##([A-Za-z]*\[)`)

// lineCommand matches the start of a line that GitHub Actions run as a command.
var lineCommand = regexp.MustCompile(`(?m)^([\s\pZ]*):(:)`)

// PrintableLines is Printable for whole lines. It also escapes commands of GitHub Actions, which are at the start of a
// line.
func PrintableLines(text string) string {
	if text = Printable(text); strings.Contains(text, "::") {
		text = lineCommand.ReplaceAllString(text, `${1}\x3a$2`)
	}
	return text
}

// escape is OneLine, but keeps some characters.
func escape(text, keep string) string {
	unsafe := isUnsafeIn(keep)
	if strings.Contains(text, "##") {
		text = ciCommand.ReplaceAllString(text, `#\x23$1`)
	}
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

// isUnsafeIn returns isUnsafe without the characters to keep.
func isUnsafeIn(keep string) func(rune) bool {
	return func(r rune) bool { return isUnsafe(r) && !strings.ContainsRune(keep, r) }
}

// isUnsafe reports whether a character can change other parts of an output.
func isUnsafe(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == '\x7f'
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
