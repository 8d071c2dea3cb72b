package tree

import (
	"errors"
	"fmt"
	"testing"
)

// TestSyntaxErrors checks the positions and the sentences of syntax errors.
func TestSyntaxErrors(t *testing.T) {
	const brackets = "invalid YAML: did not find expected ',' or ']'"
	const colon = "invalid YAML: a second colon, or a key with another indentation than its neighbours"
	const quote = "invalid YAML: the quoted text that begins here does not end"
	for text, want := range map[string]string{
		"\n\n\n\nb:\n  - c\n d: [\n":      "7:2 invalid YAML: did not find expected key",
		"a: [1, 2\nb: 3\n":                "1:1 " + brackets,
		"x: 1\na: [b\n\n\n\n":             "2:1 " + brackets,
		"x: 1\na: {b: 1\n\n\n\n":          "2:1 invalid YAML: did not find expected ',' or '}'",
		"a: 'x\nb: 1\n\n\n":               "1:4 " + quote,
		"\na:\n  b: \"x\nc: 1\n\n\n":      "3:6 " + quote,
		"a: b: c\n":                       "1:5 " + colon,
		"é: 1\n  b: 2\n":                  "2:4 " + colon,
		"a: 1\nb\nc: 2\n":                 "2:1 invalid YAML: this line needs a colon after a key",
		"a: 1\nb\n":                       "2:1 invalid YAML: this line needs a colon after a key",
		"- a\nb: 1\n":                     "2:1 invalid YAML: did not find expected '-' indicator",
		"a: 1\n- b\n":                     "2:1 invalid YAML: did not find expected key",
		"a: 1\nb:\n\tc: 1\n":              "3:1 invalid YAML: a value cannot begin with this character: quote it, and indent with spaces",
		"a: 1\nb: é @x\nc: @x\n":          "3:4 invalid YAML: a value cannot begin with this character: quote it, and indent with spaces",
		"a: 1\nb: *c # *c\n":              "2:4 invalid YAML: unknown anchor 'c' referenced",
		"# *c\na: b*c\nb: [1, *c]\n":      "3:8 invalid YAML: unknown anchor 'c' referenced",
		"a: 1\nb: &c [*c]\n":              "2:8 invalid YAML: anchor 'c' value contains itself",
		"a: 1\nb: \xff\n":                 "2:4 invalid YAML: invalid leading UTF-8 octet",
		"a: 1\nb: \x00\n":                 "2:4 invalid YAML: control characters are not allowed",
		"a: 1\nb: [.inf, .nan]\n":         "2:5 invalid YAML: JSON has no infinity and no NaN",
		"a: 1\n? [b]\n: c\n":              "2:3 invalid YAML: a key is a list or an object: keys are strings",
		"a: 1\n~: c\n":                    "2:1 invalid YAML: a key is null: keys are strings, so quote it",
		"a: 1\n18446744073709551615: c\n": "2:1 invalid YAML: a key is no string: quote it",
		"a: 1\nb:\n  <<: [c]\n":           "3:7 invalid YAML: a merge key (<<) needs an object or a list of objects",
		"%YAML 1.1\n":                     "1:1 invalid YAML: a document cannot begin with a directive: remove the line",
		"a: 1\nb: \"\\q\"\n":              "2:5 invalid YAML: found unknown escape character",
		"{\n\"a\": 1,\n\"b\" 2\n}\n":      "3:5 invalid JSON: invalid character '2' after object key",
		"{\n\"a\": [1,\n\n":               "2:9 invalid JSON: unexpected end of JSON input",
		"{\"a\": 1e999}":                  "1:7 the number 1e999 is out of range",
	} {
		d := Acquire()
		var err error
		if text[0] == '{' {
			_, err = d.ParseJSON([]byte(text), Limits{})
		} else {
			_, err = d.ParseYAML([]byte(text), Request, Limits{})
		}
		syntax, ok := errors.AsType[*SyntaxError](err)
		if !ok {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", syntax.Line, syntax.Column, syntax.Sentence()); got != want {
			t.Errorf("%q: %s, want %s (%s)", text, got, want, syntax.Text)
		}
		d.Release()
	}
}
