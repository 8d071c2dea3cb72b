package tree

import (
	"errors"
	"strings"
	"testing"
)

func TestRejections(t *testing.T) {
	for _, c := range []struct {
		name, text string
		limits     Limits
		want       string
		at         Position // of a SyntaxError
	}{
		{"empty", "", Limits{}, "unexpected end of JSON input", Position{1, 1, 0}},
		{"truncated", "{\"a\":\n [1,", Limits{}, "unexpected end of JSON input", Position{2, 5, 10}},
		{"malformed", "{\n  \"é\": x}", Limits{}, "invalid character 'x' looking for beginning of value", Position{2, 8, 10}},
		{"no quotes", "{a: 1}", Limits{}, "invalid character 'a' looking for beginning of object key string", Position{1, 2, 1}},
		{"control character", "\"\n\"", Limits{}, `invalid character '\n' in string literal`, Position{1, 2, 1}},
		{"after the value", "{} {}", Limits{}, "invalid character '{' after top-level value", Position{1, 4, 3}},
		{"byte order mark", "\ufeff{}", Limits{}, "invalid character 'ï' looking for beginning of value", Position{1, 1, 0}},
		{"number out of range", "{\"a\": 1e400 }", Limits{}, "json: cannot unmarshal number 1e400 into Go value of type float64", Position{1, 7, 6}},
		{"number out of range at the end", "-1e999", Limits{}, "json: cannot unmarshal number -1e999 into Go value of type float64", Position{1, 1, 0}},
		{"number out of range in a list", "[1,1e400]", Limits{}, "json: cannot unmarshal number 1e400 into Go value of type float64", Position{1, 4, 3}},
		{"too deep for upstream", strings.Repeat("[", 10001), Limits{}, "invalid character '[' exceeded max depth", Position{1, 10001, 10000}},
		{"too deep", "[[{}]]", Limits{MaxDepth: 2}, "nesting depth of at least 3 levels exceeds the limit of 2 levels: flatten the document or raise the depth limit", Position{}},
		{"too large", "[1, 2]", Limits{MaxBytes: 5}, "document size of 6 bytes exceeds the limit of 5 bytes: send a smaller document or raise the size limit", Position{}},
		{"too large with a negative limit", strings.Repeat(" ", 3<<20) + "1", Limits{MaxBytes: -1}, "document size of 3145729 bytes exceeds the limit of 3145728 bytes: send a smaller document or raise the size limit", Position{}},
		{"too large by default", strings.Repeat(" ", 3<<20) + "1", Limits{}, "document size of 3145729 bytes exceeds the limit of 3145728 bytes: send a smaller document or raise the size limit", Position{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Acquire()
			defer d.Release()
			root, err := d.ParseJSON([]byte(c.text), c.limits)
			if root != 0 || err == nil || err.Error() != c.want {
				t.Fatalf("root %d, error %v", root, err)
			}
			var limit *LimitError
			var syntax *SyntaxError
			switch {
			case errors.As(err, &limit):
				if c.at != (Position{}) {
					t.Errorf("a limit has no position")
				}
			case errors.As(err, &syntax):
				if got := (Position{syntax.Line, syntax.Column, syntax.Offset}); got != c.at {
					t.Errorf("at %+v, want %+v", got, c.at)
				}
			default:
				t.Errorf("%T", err)
			}
		})
	}
}
