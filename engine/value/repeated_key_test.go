package value

import (
	"fmt"
	"slices"
	"testing"
)

func TestRepeatedKeys(t *testing.T) {
	tests := []struct {
		name, text string
		yaml       bool
		want       []string
	}{
		{"none", `{"a":{"b":1},"c":[{"b":1},{"b":2}]}`, false, nil},
		{"JSON", `{"a":[0,{"b.c":1,"d":2,"b.c":3,"b.c":4}],
"a":1}`, false, []string{
			`duplicate field "a[1].b.c" /a/1/b.c 1:24 after 1:10`,
			`duplicate field "a[1].b.c" /a/1/b.c 1:32 after 1:24`,
			`duplicate field "a" /a 2:1 after 1:2`,
		}},
		{"YAML", "a:\n- b: 1\n  c: 2\n  b:\n    d: 3\n", true, []string{
			`line 5: key "b" already set in map /a/0/b 4:3 after 2:3`,
		}},
		{"merged", "x: &x {a: 1}\nz:\n  <<: *x\n  a: 2\n", true, []string{
			`line 4: key "a" already set in map /z/a 4:3 after 0:0`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Acquire()
			defer d.Release()
			parse := d.ParseJSON
			if tt.yaml {
				parse = func(text []byte, l Limits) (uint32, error) { return d.ParseYAML(text, Request, l) }
			}
			if _, err := parse([]byte(tt.text), Limits{}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, k := range d.RepeatedKeys(Request) {
				got = append(got, fmt.Sprintf("%s %s %d:%d after %d:%d", k.Text, k.Path.Pointer(),
					k.Position.Line, k.Position.Column, k.Before.Line, k.Before.Column))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestPlainKey(t *testing.T) {
	d := Acquire()
	defer d.Release()
	const text = "on: 1\n1.50 : 2\n\"n\": 3\n? y\n: 4\nplain: {no: 5}\n"
	if _, err := d.ParseYAML([]byte(text), Request, Limits{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"1.5": "1.50", "n": "", "plain": "plain"} {
		if got := d.PlainKey(Path{Name(path)}); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := d.PlainKey(Path{Name("plain"), Name("false")}); got != "no" {
		t.Errorf("false: %q", got)
	}
	if _, err := d.ParseJSON([]byte(`{"a":1}`), Limits{}); err != nil || d.PlainKey(Path{Name("a")}) != "" {
		t.Errorf("JSON: %v, %q", err, d.PlainKey(Path{Name("a")}))
	}
}
