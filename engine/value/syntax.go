package value

import (
	"bytes"
	gojson "encoding/json"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Sentence returns the error as one short sentence, without the prefixes and the Go types of the libraries.
func (e *SyntaxError) Sentence() string {
	if wrong, ok := errors.AsType[*gojson.UnmarshalTypeError](e.Cause); ok {
		return "the " + wrong.Value + " is out of range"
	}
	text, isYAML := e.Text, false
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:\n"} {
		var cut bool
		text, cut = strings.CutPrefix(text, prefix)
		isYAML = isYAML || cut
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = linePrefix.ReplaceAllString(text, "")
	if isYAML {
		return "invalid YAML: " + text
	}
	return "invalid JSON: " + strings.TrimPrefix(text, "invalid JSON: ")
}

// linePrefix is how the YAML library begins an error. The line is not always the one with the error.
var linePrefix = regexp.MustCompile(`\Aline \d+: `)

// Position returns the position of the error, or the zero Position if it is not known.
func (e *SyntaxError) Position() Position {
	if e.Line == 0 {
		return Position{}
	}
	return Position{Line: e.Line, Column: max(e.Column, 1), Offset: max(e.Offset, 0)}
}

// place sets the position of an error of the YAML library in the text that was parsed. The library has at most a line,
// which is not always the right one.
func (e *SyntaxError) place(text []byte) *SyntaxError {
	y := &YAMLSource{text: text}
	y.indexLines()
	offset, found := offender(text, e.Text)
	if !found {
		offset = e.offsetOf(y)
	}
	at := y.at(uint32(offset))
	e.Line, e.Column, e.Offset = at.Line, at.Column, at.Offset
	return e
}

// offsetOf returns the offset of the first character of the line with the error.
func (e *SyntaxError) offsetOf(y *YAMLSource) int {
	line := max(e.Line, 1)
	if line < len(y.index.lines) && afterParser(e.Text) {
		line++ // the library counts from 0 there
	}
	line = min(line, len(y.index.lines))
	if strings.HasSuffix(e.Text, "could not find expected ':'") {
		line-- // the key without a value is on a line before
	}
	for ; line > 1 && !HasContent(y.line(line)); line-- {
	}
	line = max(line, 1)
	row := y.line(line)
	column := len(row) - len(bytes.TrimLeft(row, " "))
	if at := noToken.FindIndex(row); at != nil && strings.HasSuffix(e.Text, "cannot start any token") {
		column = at[1] - 1
	}
	return int(y.index.lines[line-1]) + column
}

// line returns a line without its end.
func (y *YAMLSource) line(line int) []byte {
	end := len(y.text)
	if line < len(y.index.lines) {
		end = int(y.index.lines[line])
	}
	return bytes.TrimRight(y.text[y.index.lines[line-1]:end], "\r\n\u0085\u2028\u2029")
}

// noToken matches a character that cannot begin a plain scalar, after a place where one can begin.
var noToken = regexp.MustCompile("(^|[\\[{,:-]) *[@`%\t]")

// afterParser reports whether an error is one of the parser of the YAML library, which counts lines from 0, and not of
// its scanner, which counts from 1.
func afterParser(text string) bool {
	if !yamlLine.MatchString(text) {
		return false
	}
	for _, part := range []string{
		"did not find expected <", "did not find expected key", "did not find expected node content",
		"did not find expected '-' indicator", "did not find expected ',' or ", "found duplicate %",
		"found incompatible YAML document", "found undefined tag handle",
	} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// alias matches the errors about an alias, which have no line.
var alias = regexp.MustCompile(`unknown anchor '([^']*)' referenced|anchor '([^']*)' value contains itself`)

// offender returns the offset of the character or alias that an error without a line is about.
func offender(text []byte, message string) (offset int, found bool) {
	if m := alias.FindStringSubmatch(message); m != nil {
		at := bytes.Index(text, []byte("*"+m[1]+m[2]))
		return at, at >= 0
	}
	if yamlLine.MatchString(message) {
		return 0, false
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return at, true
		}
		at += size
	}
	return 0, false
}
