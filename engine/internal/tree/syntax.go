package tree

import (
	gojson "encoding/json"
	"errors"
	"regexp"
	"strings"
)

// Position returns the position of the error, or the zero Position if it is not known.
func (e *SyntaxError) Position() Position {
	if e.Line == 0 {
		return Position{}
	}
	return Position{Line: e.Line, Column: max(e.Column, 1), Offset: max(e.Offset, 0)}
}

// Sentence returns the error as one short sentence, without the prefixes, the lines and the Go types of the libraries.
func (e *SyntaxError) Sentence() string {
	if wrong, ok := errors.AsType[*gojson.UnmarshalTypeError](e.Cause); ok {
		return "the " + wrong.Value + " is out of range"
	}
	message, isYAML := e.message()
	for _, c := range clearer {
		if strings.HasPrefix(message, c.message) {
			return "invalid YAML: " + c.sentence
		}
	}
	if !isYAML {
		return "invalid JSON: " + strings.TrimPrefix(message, "invalid JSON: ")
	}
	return "invalid YAML: " + message
}

// clearer has sentences for messages of the YAML library that name neither the fault nor what to do.
var clearer = []struct{ message, sentence string }{
	{"found unexpected end of stream", "the quoted text that begins here does not end"},
	{"found unexpected document indicator", "the quoted text that begins here does not end"},
	{"found character that cannot start any token", "a value cannot begin with this character: quote it, and indent with spaces"},
	{"mapping values are not allowed in this context", "a second colon, or a key with another indentation than its neighbours"},
	{"could not find expected ':'", "this line needs a colon after a key"},
	{"did not find expected <document start>", "a document cannot begin with a directive: remove the line"},
	{"found incompatible YAML document", "a document cannot begin with a directive: remove the line"},
	{"unsupported map key of type: %!s(<nil>)", "a key is null: keys are strings, so quote it"},
	{"unsupported map key", "a key is no string: quote it"},
	{"invalid map key", "a key is a list or an object: keys are strings"},
	{"json: unsupported value", "JSON has no infinity and no NaN"},
	{"map merge requires", "a merge key (<<) needs an object or a list of objects"},
}

// message returns the library's text without its prefixes, in one line.
func (e *SyntaxError) message() (text string, isYAML bool) {
	text = e.Text
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:\n"} {
		var cut bool
		text, cut = strings.CutPrefix(text, prefix)
		isYAML = isYAML || cut
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return linePrefix.ReplaceAllString(text, ""), isYAML
}

// linePrefix is how the YAML library begins an error. The line is not always the one with the error.
var linePrefix = regexp.MustCompile(`\Aline \d+: `)
