package value

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

func TestPeekTypeMeta(t *testing.T) {
	for _, c := range []struct {
		text, apiVersion, kind string
		ok                     bool
	}{
		{`{"apiVersion":"v1","kind":"Pod"}`, "v1", "Pod", true},
		{" {\n \"kind\" : \"é\" , \"x\":[{\"kind\":\"no\"},\"}\\\"]\",1.5e3], \"apiVersion\":\"\" } ", "", "é", true},
		{`{"kind":"A","apiVersion":"v1","kind":"B"}`, "v1", "B", true},
		{`{"kind":"A","apiVersion":"v1","a":tru,"b":[}}`, "v1", "A", true}, // a full parse rejects it
		{`{"kind":"A","apiVersion":"v1"} x`, "", "", false},
		{`{"kind":"A","apiVersion":"v1"`, "", "", false},
		{`{"kind":"A","apiVersion":"v1","\u006bind":"B"}`, "", "", false},
		{`{"kind":"\u0041","apiVersion":"v1"}`, "", "", false},
		{"{\"kind\":\"\xff\",\"apiVersion\":\"v1\"}", "", "", false},
		{`{"kind":null,"apiVersion":"v1"}`, "", "", false},
		{`{"kind":"A"}`, "", "", false},
		{`{}`, "", "", false},
		{`[]`, "", "", false},
		{``, "", "", false},
		{`{"kind":"A",`, "", "", false},
		{`{"a":"`, "", "", false},
		{`{"a":[`, "", "", false},
	} {
		apiVersion, kind, ok := PeekTypeMeta([]byte(c.text))
		if ok != c.ok || ok && (apiVersion != c.apiVersion || kind != c.kind) {
			t.Errorf("%s: %q, %q, %v", c.text, apiVersion, kind, ok)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true}, {`1`, `1.0`, false}, {`1.0`, `1.00`, true}, {`0.0`, `-0.0`, true}, {`-0`, `0`, true}, {`null`, `false`, false}, {`true`, `false`, false},
		{`"a"`, `"\u0061"`, true}, {`"a"`, `"b"`, false}, {`[1,2]`, `[2,1]`, false}, {`[1]`, `[1,1]`, false}, {`[]`, `{}`, false}, {`{}`, `{}`, true},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true}, {`{"a":1,"b":2}`, `{"b":2,"c":1}`, false}, {`{"a":1,"b":2}`, `{"a":1}`, false}, {`{"a":1,"a":2}`, `{"a":2}`, true},
		{`{"a":{"b":[{"c":1}]}}`, `{"a":{"b":[{"c":1}]}}`, true}, {`{"a":{"b":[{"c":1}]}}`, `{"a":{"b":[{"c":2}]}}`, false},
		{manyKeys(40, -1), manyKeys(40, 39), false}, {manyKeys(40, -1), manyKeys(40, -1), true},
	} {
		d, e := Acquire(), Acquire()
		i, j := mustParse(t, d, []byte(c.a)), mustParse(t, e, []byte(c.b))
		if Equal(d, i, e, j) != c.want || Equal(e, j, d, i) != c.want {
			t.Errorf("%s and %s: not %v", c.a, c.b, c.want)
		}
		d.Release()
		e.Release()
	}
}

func TestAccessors(t *testing.T) {
	d := Acquire()
	defer d.Release()
	root := mustParse(t, d, []byte(`{"s":"h\u00e9","p":"é","f":1.5,"i":-3,"a":[true,false,null],"":{}}`))
	if s := d.Field(root, "s"); d.Str(s) != "hé" || d.Runes(s) != 2 || string(d.Raw(s)) != `"h\u00e9"` {
		t.Errorf("s: %q, %d", d.Str(s), d.Runes(s))
	}
	if p := d.Field(root, "p"); d.Str(p) != "é" || d.Runes(p) != 1 || d.Nodes[p].Flags != Wide {
		t.Errorf("p: %q, %d", d.Str(p), d.Runes(p))
	}
	if f, i := d.Field(root, "f"), d.Field(root, "i"); d.Float(f) != 1.5 || d.Number(f) != 1.5 || d.Int(i) != -3 || d.Number(i) != -3 {
		t.Error("numbers are wrong")
	}
	a := d.Field(root, "a")
	if d.Len(a) != 3 || d.Nodes[d.Index(a, 1)].Kind != False || d.Index(a, 3) != 0 || d.Index(a, -1) != 0 || d.Index(root, 0) != 0 || d.Field(a, "x") != 0 {
		t.Error("the list is wrong")
	}
	if e := d.Field(root, ""); e == 0 || d.Key(e) != "" || d.Nodes[e].Kind.String() != "object" {
		t.Error("the empty key is wrong")
	}
	if d.Root(Request) != root || d.Root(Old) != 0 {
		t.Error("the roots are wrong")
	}
	old, err := d.Parse([]byte(`{"s":"hé"}`), Old, Limits{})
	if err != nil || !Equal(d, d.Field(root, "s"), d, d.Field(old, "s")) {
		t.Errorf("two sources: %v", err)
	}
}
