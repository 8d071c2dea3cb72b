package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/testenv"
)

var yamls = []string{
	"[ a]: &a [*a]", "{--- !&}# #", "{---\r\"\"\"\"\"}", "{---: 1}", "{...: 1}",
	"", "\n", "# only a comment\n", "---\n", "--- # c\n", "...\n", "null", "~", "a: 1", "a: 1.0", "a: 1e3", "a: 017", "a: 0o17", "a: 0b11", "a: 0x1f", "a: 1_000", "a: 1:30",
	"a: .5", "a: .inf", "a: -.inf", "a: .nan", "a: 9223372036854775807", "a: 9223372036854775808", "a: 18446744073709551616", "a: 9007199254740993", "a: -0", "a: 0.1",
	"on: off\nyes: no\ny: n\ntrue: false\n", "~: 1", "null: 1", "1: a\n1.5: b\n0x10: c\n", "? [a]\n: 1", "? {a: b}\n: 1", "[1, 2, {a: b}]", "- 1\n- - 2\n  - 3\n- a: b\n  c: d\n",
	"a: 2001-12-14", "a: 2001-12-14t21:59:43.10-05:00", "2001-12-14: a", "a: !!str 1", "a: !!int \"1\"", "a: !!float 1", "a: !!binary aGVsbG8=", "a: !!binary \"?\"", "a: !!binary /w==", "a: !custom x", "!!binary YQ==: 1",
	"a: |\n  x\n  y\nb: >\n  x\n  y\n", "a: \"\\u00e9\\n<>&\"", "a: '<b>&amp;\\u003c'", "é: ü\n", "a: \"\\ud83d\\ude00\"", "a: \"\\x00\"", "a: \"\\\\u003c\"",
	"a: 1\na: 2\n", "a:\n  b: 1\n  b: 2\n  c: 3\nd: 4\nd: 5\n", "1: a\n\"1\": b\n", "a: &x 1\nb: *x\n", "a: &x {c: 1}\nb: *x\nd: {<<: *x, c: 2}\ne: {c: 3, <<: *x}\n",
	"a: &x {c: 1}\nb: &y {d: 2, c: 3}\ne: {<<: [*x, *y]}\n", "<<: {a: 1}\na: 2\n", "\"<<\": {a: 1}\n", "<<: 1", "a: &a [*a]", "a: &a {b: *a}", "a: *nothing", "&a a: 1\nb: *a\n", "*a : 1", "a: '*/5 & *'\nb: x&y*z\n",
	"a: 1\n---\nb: 2\n", "---\na: 1\n---\n", "---\na: 1\n...\n", "---\na: 1\n...\n# end\n", "a: 1\n...\nb: 2\n", "---\n---\na: 1\n", "# c\n---\na: 1\n--- # nothing\n# more\n", "%YAML 1.1\n---\na: 1\n", "a: 1\n--- b\n", "a: |\n  ---\n  x\n",
	"a: b: c", "a: [", "a: {", "a: \"", "a: 'x", "\ta: 1", "a:\n\t- 1", "- a\nb: 1", "a: @x", "a: `x`", "a: %x", "{a: 1", "{a: 1}}", "a: 1\n b: 2", "\x00", "a: \x01", "a: \xff", "\xff\xfea\x00:\x00 \x001\x00", "\xfe\xff\x00a\x00:\x00 \x001", "\ufeffa: 1\n", "a: 1\r\nb: 2\r\n", "a: 1\rb: 2\r", "a: x\u2028  y\nb: 1\n", "a: \u0085b",
	`{"a": 1, "b": [true, null, "x"], "a": 2}`, "{a: 1, b: [x, y,], }", "a: [1, 2\n]\n", "a:\n- b\n- c\n", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x # c\nspec:\n  list:\n  - {a: 1}\n  - a: 2\n    b: 3\n",
	"{? a, ? b: c}", "[a: b, c: d]", "a: !!null x", "a: !!bool yes", "a: !!map {b: c}", "a: !!seq [b]", "a: !!set {b, c}", "a: !!timestamp 2001-12-14", "=: 1", "a: =", "? |\n  key\n: v\n", "? a\n? b\n", "- &a a\n- &a b\n- *a\n",
}

func TestYAMLAgreesWithUpstream(t *testing.T) {
	for _, text := range yamls {
		compareYAML(t, []byte(text))
	}
	for i := range strings.Count(list, "") - 1 {
		compareYAML(t, []byte(list[:i]))
	}
}

const list = "a:\n  - b: &x [1, 'two', \"three\"]\n    c: *x\n  - |\n    text\n  # done\n"

// compareYAML checks acceptance, values and error texts of one document against sigs.k8s.io/yaml, and that each node
// has a position.
func compareYAML(t testing.TB, text []byte) {
	t.Helper()
	compareScan(t, text)
	d := Acquire()
	defer d.Release()
	root, err := d.ParseYAML(text, Request, Limits{MaxBytes: 1 << 20})
	var limit *LimitError
	if errors.As(err, &limit) {
		return // do not call upstream, which might expand it
	}
	for range SplitYAML(text) {
	}
	var strictErr, wantErr error
	var want any
	// If distinct YAML keys become equal in JSON, upstream's value depends on the order of a Go map.
	for range 200 {
		var converted []byte
		_, strictErr = convert(text, sigsyaml.YAMLToJSONStrict)
		converted, wantErr = convert(text, sigsyaml.YAMLToJSON)
		if wantErr == nil {
			wantErr = kjson.UnmarshalCaseSensitivePreserveInts(converted, &want)
		}
		if err != nil || wantErr != nil || reflect.DeepEqual(d.Any(root), want) {
			break
		}
	}
	if err != nil && strings.Contains(err.Error(), "a second document begins here") {
		if wantErr != nil {
			t.Fatalf("%q: %v, upstream %v", text, err, wantErr)
		}
		return
	}
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("%q: error %v, upstream %v", text, err, wantErr)
	}
	if err != nil {
		return
	}
	if got := d.Any(root); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: %#v, upstream %#v", text, got, want)
	}
	var got error
	for duplicate := range d.Duplicates(Request) {
		got = errors.Join(got, errors.New(duplicate.Text))
	}
	if fmt.Sprint(got) != fmt.Sprint(strictErr) {
		t.Fatalf("%q: duplicates %v, upstream %v", text, got, strictErr)
	}
	var out any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(d.AppendJSON(nil, root), &out); err != nil || !reflect.DeepEqual(out, reprinted(t, want)) {
		t.Fatalf("%q: output %s (%v)", text, d.AppendJSON(nil, root), err)
	}
	if tree := d.yaml[Request].tree(); tree == nil {
		return
	}
	var check func(i uint32, path Path)
	check = func(i uint32, path Path) {
		p := d.PositionOf(i, path)
		if p.Line < 1 || p.Column < 1 || p.Offset < 0 || p.Offset > len(d.yaml[Request].text) {
			t.Fatalf("%q: node %d %s is at %+v", text, i, d.Raw(i), p)
		}
		d.yaml[Request].KeyPosition(path)
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			if d.Nodes[i].Kind == Array {
				check(c, path.With(At(int(d.Nodes[c].Key))))
			} else {
				check(c, path.With(Name(d.Key(c))))
			}
		}
	}
	check(root, nil)
}

func reprinted(t testing.TB, v any) (again any) {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &again); err != nil {
		t.Fatal(err)
	}
	return again
}

func FuzzYAML(f *testing.F) {
	for _, text := range yamls {
		f.Add([]byte(text))
	}
	f.Add([]byte(list))
	f.Fuzz(func(t *testing.T, text []byte) { compareYAML(t, text) })
}

func TestYAMLBounds(t *testing.T) {
	laughs := "a0: &a0 lol\n"
	for i := range 30 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 10))
	}
	chain := "a0: &a0 x\n"
	for i := range 200 {
		chain += fmt.Sprintf("a%d: &a%d %s*a%d%s\n", i+1, i+1, strings.Repeat("[", 100), i, strings.Repeat("]", 100))
	}
	long := "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 1<<18) + "]\n"
	for _, c := range []struct {
		name, text, want string
		limits           Limits
	}{
		{"a billion laughs", laughs, "alias expansion of at least 1125899906842624 bytes exceeds the limit of 3145728 bytes: write the repeated parts out, or use fewer aliases", Limits{}},
		{"a long string many times", long, "alias expansion of ", Limits{}},
		{"aliases that nest", chain, "nesting depth of at least 10001 levels exceeds the limit of 10000 levels: ", Limits{MaxAliasBytes: 1 << 30}},
		{"an anchor in itself", "a: &a\n  b: *a\n", "yaml: anchor 'a' value contains itself", Limits{}},
		{"an anchor in itself, indirectly", "a: &a\n  b: &b\n    c: [*a, *b]\n", "yaml: anchor 'a' value contains itself", Limits{}},
		{"an unknown anchor", "a: *b\nc: &d 1\n", "yaml: unknown anchor 'b' referenced", Limits{}},
		{"deep", strings.Repeat("[", 10001), "yaml: exceeded max depth of 10000", Limits{}},
		{"deeper than JSON", "- " + strings.Repeat("[", 10000) + strings.Repeat("]", 10000), "invalid character '[' exceeded max depth", Limits{}},
		{"deeper than the limit", "a: [[1]]", "nesting depth of at least 3 levels exceeds the limit of 2 levels: flatten the document or raise the depth limit", Limits{MaxDepth: 2}},
		{"large", "a: " + strings.Repeat("x", 3<<20), "document size of 3145731 bytes exceeds the limit of 3145728 bytes: ", Limits{}},
		{"two documents", "a: 1\n---\nb: 2\n", "yaml: line 2: a second document begins here; send one document at a time", Limits{}},
		{"two JSON objects", "{\"a\": 1}\n\n{\"b\": 2}\n", "yaml: line 3: a second document begins here; ", Limits{}},
		{"two JSON objects on one line", "{\"a\": 1} {\"b\": 2}", "yaml: line 1: a second document begins here; ", Limits{}},
		{"text after a flow mapping", "--- # c\n{a: 1}\nb", "yaml: line 3: a second document begins here; ", Limits{}},
		{"text after an indented mapping", "# c\n  a: 1\nb: 2\n", "yaml: line 3: a second document begins here; ", Limits{}},
		{"a bracket too many", "\ufeff[1]\n]\n", "yaml: line 2: a second document begins here; ", Limits{}},
		{"not a number in JSON", "a: .nan", "json: unsupported value: NaN", Limits{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Acquire()
			defer d.Release()
			start := testenv.CPUTime()
			_, err := d.ParseYAML([]byte(c.text), Request, c.limits)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if took := testenv.CPUTime() - start; took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	for _, text := range []string{
		"# c\n\n---\na: 1\n", "{a: 1}\n# c\n", "{a: 1}\n...\n# c\n", "---\n[1]\n---\n# c\n", "'a': 1\n'b': 2\n",
		"- 1\n- 2\n", "%YAML 1.1\n---\na: 1\n",
	} {
		if _, _, err := YAMLToJSON([]byte(text), Limits{}); err != nil {
			t.Errorf("%q is one document: %v", text, err)
		}
	}
	small := "a: &a [" + strings.Repeat("1, ", 20) + "]\nb: [" + strings.Repeat("*a, ", 1000) + "]\n"
	if _, _, err := YAMLToJSON([]byte(small), Limits{}); err != nil {
		t.Errorf("a small document may expand by more than the factor: %v", err)
	}
	if _, _, err := YAMLToJSON([]byte(small), Limits{MaxAliasBytes: 1000}); err == nil {
		t.Error("the factor does not hold above the bytes")
	}
	// A text that only one of the two libraries can parse is measured after expansion.
	if err := checkExpanded([]byte(long), Limits{}.WithDefaults()); err == nil || !strings.HasPrefix(err.Error(), "alias expansion") {
		t.Errorf("expanded: %v", err)
	}
	if err := checkExpanded([]byte("a: &a [[[1]]]\nb: [[*a]]\n"), Limits{MaxDepth: 5}.WithDefaults()); err == nil || !strings.HasPrefix(err.Error(), "nesting depth") {
		t.Errorf("expanded: %v", err)
	}
}

func TestYAMLPositions(t *testing.T) {
	text := "\ufeff# é\nspec:\n  é: [ä, b]\n  0x10: hex\n  on: {é: 1}\n  'on': str\n  base: &base\n    k: v\n  derived:\n    <<: *base\n  alias: *base\n  last: 1\n"
	d := Acquire()
	defer d.Release()
	root, err := d.ParseYAML([]byte(text), Request, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path      Path
		want      Position
		key       Position
		at, atKey string
	}{
		{nil, Position{2, 1, 8}, Position{2, 1, 8}, "spec:", "spec:"},
		{Path{Name("spec")}, Position{3, 3, 16}, Position{2, 1, 8}, "é: [ä", "spec:"},
		{Path{Name("spec"), Name("é"), At(1)}, Position{3, 10, 25}, Position{3, 10, 25}, "b]", "b]"},
		{Path{Name("spec"), Name("16")}, Position{}, Position{}, "hex", "0x10"},
		{Path{Name("spec"), Name("true"), Name("é")}, Position{}, Position{}, "1}", "é: 1"},
		{Path{Name("spec"), Name("on")}, Position{}, Position{}, "str", "'on'"},
		{Path{Name("spec"), Name("derived"), Name("k")}, Position{}, Position{}, "v\n", "k: v"},
		{Path{Name("spec"), Name("alias")}, Position{}, Position{}, "*base\n  last", "alias"},
		{Path{Name("spec"), Name("alias"), Name("k")}, Position{}, Position{}, "v\n", "k: v"},
	} {
		node := d.Finder().Lookup(root, c.path)
		if node == 0 {
			t.Fatalf("%v: not there", c.path)
		}
		got, key := d.PositionOf(node, c.path), d.yaml[Request].KeyPosition(c.path)
		if len(c.path) == 0 {
			key = got
		}
		if !strings.HasPrefix(text[got.Offset:], c.at) || !strings.HasPrefix(text[key.Offset:], c.atKey) {
			t.Errorf("%v: value at %+v %.10q, key at %+v %.10q", c.path, got, text[got.Offset:], key, text[key.Offset:])
		}
		if c.want.Line > 0 && (got != c.want || key != c.key) {
			t.Errorf("%v: value at %+v, key at %+v", c.path, got, key)
		}
		if at := d.PositionAt(c.path); at != got {
			t.Errorf("%v: by path at %+v", c.path, at)
		}
	}
	if got := d.PositionOf(0, Path{Name("spec"), Name("derived"), Name("absent")}); got.Line != 10 {
		t.Errorf("what no merged mapping has is at %+v", got)
	}
	if got := d.PositionAt(Path{Name("spec"), Name("last"), Name("absent")}); got.Line != 12 {
		t.Errorf("an absent value is at %+v", got)
	}
}

func TestSplitYAML(t *testing.T) {
	stream := "# head\n---\n# nothing\n---\na: 1\n--- {b: 2}\n---\n...\n%YAML 1.1\n---\nc: |\n  ---\n"
	var got []string
	for document := range SplitYAML([]byte(stream)) {
		got = append(got, fmt.Sprintf("%d %s", document.Line, document.Text))
		if !strings.HasPrefix(stream[document.Offset:], string(document.Text)) || strings.Count(stream[:document.Offset], "\n")+1 != document.Line {
			t.Errorf("%q: offset %d", document.Text, document.Offset)
		}
		if _, _, err := YAMLToJSON(document.Text, Limits{}); err != nil {
			t.Errorf("%q: %v", document.Text, err)
		}
	}
	want := []string{"4 ---\na: 1\n", "6 --- {b: 2}\n", "9 %YAML 1.1\n---\nc: |\n  ---\n"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}
