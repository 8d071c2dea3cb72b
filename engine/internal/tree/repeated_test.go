package tree

import (
	"fmt"
	"strings"
	"testing"
)

// TestRepeatedKeys checks the duplicate keys of manifests, as upstream reports those of JSON, with the second key.
func TestRepeatedKeys(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n":                            "",
		"a: &x {b: 1}\nc: {<<: *x, b: 2}\n": "",
		"a: &x {b: 1}\nc: {<<: *x, <<: *x, b: 2, b: 3}\n":                      `duplicate field "c.b" 2:27`,
		"a: 1\na: 2\na: 3\n":                                                   `duplicate field "a" 2:1`,
		"a:\n- {b: 1, é: [{c: 1, c: 2}]}\n- b: 1\n  \"b\": 2\n":                `duplicate field "a[0].é[0].c" 2:21|duplicate field "a[1].b" 4:3`,
		"on: 1\ntrue: 2\nyes: 3\n":                                             `duplicate field "true" 2:1`,
		"# c\na: {}\n---\n":                                                    "",
		`{"a": {"b": 1, "\u0062": 2}, "c": [1, {"d": 1,` + "\n" + ` "d": 2}]}`: `duplicate field "a.b" 1:26|duplicate field "c[1].d" 2:2`,
	} {
		for _, lines := range []int{0, 3} {
			d, whole := Acquire(), NewText([]byte(strings.Repeat("#\n", lines)+text), Position{})
			origin := whole.At(2 * lines)
			var err error
			if text[0] == '{' {
				_, err = d.ParseAt([]byte(text), Request, origin, Limits{})
			} else {
				_, _, _, err = d.ConvertYAML([]byte(text), Request, origin, Limits{})
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			var got []string
			for duplicate := range d.Duplicates(Request) {
				at := duplicate.Places[0].Position
				got = append(got, fmt.Sprintf("%s %d:%d", duplicate.Text, at.Line-lines, at.Column))
				if duplicate.Places[0].Path.Dotted() != duplicate.Path {
					t.Errorf("%q: %s has the path %s", text, duplicate.Path, duplicate.Places[0].Path)
				}
			}
			if list := strings.Join(got, "|"); list != want {
				t.Errorf("%q: %s, want %s", text, list, want)
			}
			d.Release()
		}
	}
}
