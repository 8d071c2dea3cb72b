package patch_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestApply names what the languages do, and where the library does not do what their RFCs say. Each case runs against the library, too.
func TestApply(t *testing.T) {
	for _, c := range []struct {
		name, object, patch string
		want                string // the object as upstream prints it; empty for a rejection
		code                int
		detail              string // a part of the text about it
	}{
		{name: "merge: members", object: `{"a":1,"b":{"c":2,"d":3}}`, patch: `{"b":{"c":null,"e":4},"a":[1]}`, want: `{"a":[1],"b":{"d":3,"e":4}}`},
		{name: "merge: nulls in new values are dropped", object: `{}`, patch: `{"a":{"b":null,"c":[null,{"d":null}]}}`, want: `{"a":{"c":[null,{}]}}`},
		{name: "merge: nulls in a value that replaces an object stay", object: `{"a":{}}`, patch: `{"a":[{"b":null}]}`, want: `{"a":[{"b":null}]}`},
		{name: "merge: a list replaces the object", object: `{}`, patch: `[{"a":null}]`, want: `[{}]`},
		{name: "merge: null", object: `{}`, patch: `null`, code: 400, detail: "Invalid JSON Patch"},
		{name: "merge: a string", object: `{}`, patch: `"a"`, code: 400, detail: "Invalid JSON Patch"},
		{name: "merge: duplicate keys", object: `{}`, patch: `{"a":1,"a":{"b":1,"b":2}}`, want: `{"a":{"b":2}}`},

		{name: "add", object: `{"a":[1,2]}`, patch: `[{"op":"add","path":"/a/1","value":{"x": 1}},{"op":"add","path":"/a/-","value":3}]`, want: `{"a":[1,{"x":1},2,3]}`},
		{name: "add counts from the end", object: `{"a":[1,2]}`, patch: `[{"op":"add","path":"/a/-1","value":3}]`, want: `{"a":[1,2,3]}`},
		{name: "add without a value adds null", object: `{}`, patch: `[{"op":"add","path":"/a"}]`, want: `{"a":null}`},
		{name: "add below a missing member", object: `{}`, patch: `[{"op":"add","path":"/a/b","value":1}]`, code: 422, detail: "operation 0 (add /a/b): the path does not lead into"},
		{name: "add at the root", object: `{}`, patch: `[{"op":"add","path":"","value":{}}]`, code: 422, detail: "does not lead into an object or a list"},
		{name: "add outside of a list", object: `{"a":[]}`, patch: `[{"op":"add","path":"/a/2","value":1}]`, code: 422, detail: "index 2 is outside"},
		{name: "keys are escaped", object: `{"a/b":1,"m~n":2}`, patch: `[{"op":"remove","path":"/a~1b"},{"op":"replace","path":"/m~0n","value":3}]`, want: `{"m~n":3}`},
		{name: "a path need not begin with a slash", object: `{"a":1}`, patch: `[{"op":"remove","path":"x/a"}]`, want: `{}`},
		{name: "replace a missing member", object: `{}`, patch: `[{"op":"replace","path":"/a","value":1}]`, want: `{"a":1}`},
		{name: "replace the root", object: `{"a":1}`, patch: `[{"op":"replace","path":"","value":{"b":1}},{"op":"add","path":"/c","value":2}]`, want: `{"b":1,"c":2}`},
		{name: "replace the root by a number", object: `{"a":1}`, patch: `[{"op":"replace","path":"","value":1}]`, code: 422, detail: "can only be replaced by an object or a list"},
		{name: "remove a missing member", object: `{}`, patch: `[{"op":"remove","path":"/a"}]`, code: 422, detail: `there is no "a" to remove`},
		{name: "move", object: `{"a":{"b":1},"c":{}}`, patch: `[{"op":"move","from":"/a/b","path":"/c/b"}]`, want: `{"a":{},"c":{"b":1}}`},
		{name: "move into itself", object: `{"a":{"b":1}}`, patch: `[{"op":"move","from":"/a","path":"/a/b"}]`, code: 422, detail: "does not lead into an object or a list"},
		{name: "copy", object: `{"a":{"b":[1]}}`, patch: `[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/c/b/-","value":2}]`, want: `{"a":{"b":[1]},"c":{"b":[1,2]}}`},
		{name: "copy into itself", object: `{}`, patch: `[{"op":"add","path":"/a","value":{"z":1,"b":2}},{"op":"copy","from":"/a","path":"/a/c"}]`,
			want: `{"a":{"b":2,"c":{"b":2,"z":1},"z":1}}`},
		{name: "test", object: `{"a":{"b":1,"c":[2]}}`, patch: `[{"op":"test","path":"/a","value":{"c":[2],"b":1}}]`, want: `{"a":{"b":1,"c":[2]}}`},
		{name: "test a missing member", object: `{}`, patch: `[{"op":"test","path":"/a","value":null},{"op":"test","path":"/a"}]`, want: `{}`},
		{name: "test fails", object: `{"a":1}`, patch: `[{"op":"test","path":"/a","value":2}]`, code: 422, detail: "operation 0 (test /a): the value differs"},
		{name: "test compares texts: numbers", object: `{"a":1}`, patch: `[{"op":"test","path":"/a","value":1.0}]`, code: 422},
		{name: "test compares texts: an escaped character", object: `{"a":"x<y"}`, patch: `[{"op":"test","path":"/a","value":"x<y"}]`, code: 422},
		{name: "test compares texts: the same escape", object: `{"a":"x<y"}`, patch: `[{"op":"test","path":"/a","value":"x\u003cy"}]`, want: `{"a":"x\u003cy"}`},
		{name: "test of nulls in a list", object: `{"a":[null]}`, patch: `[{"op":"test","path":"/a","value":[null]}]`, code: 500, detail: "panic"},
		{name: "test of the root without a value", object: `{}`, patch: `[{"op":"test","path":""}]`, code: 500},
		{name: "add below a copied null", object: `{}`, code: 500,
			patch: `[{"op":"add","path":"/a","value":null},{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/c","value":1}]`},
		{name: "no operations", object: `{"b":1,"a":2}`, patch: `[]`, want: `{"a":2,"b":1}`},
		{name: "null instead of operations", object: `{"a":1}`, patch: `null`, want: `{"a":1}`},
		{name: "an operation that is null", object: `{}`, patch: `[null]`, code: 422, detail: "operation 0: it has no op"},
		{name: "an unknown operation", object: `{}`, patch: `[{"op":"ADD","path":"/a"}]`, code: 422, detail: "no such operation"},
		{name: "no path", object: `{}`, patch: `[{"op":"add","value":1}]`, code: 422, detail: "no path"},
		{name: "an object instead of operations", object: `{}`, patch: `{"op":"add"}`, code: 400, detail: "json: cannot unmarshal object into Go value of type jsonpatch.Patch"},
		{name: "invalid JSON", object: `{}`, patch: `[`, code: 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			language := patch.JSON
			if strings.HasPrefix(c.name, "merge") {
				language = patch.Merge
			}
			a := agree(t, language, c.object, c.patch)
			if a.printed != c.want || a.code != c.code || !strings.Contains(a.detail, c.detail) {
				t.Errorf("%d %s (%s), want %d %s (%s)", a.code, a.printed, a.detail, c.code, c.want, c.detail)
			}
		})
	}
}

// TestStrict checks the errors of strict decoding about the patch itself.
func TestStrict(t *testing.T) {
	for _, c := range []struct {
		language patch.Type
		patch    string
		want     []string
		rejected string
	}{
		{patch.Merge, `{"a":{"b":1,"b":2},"c":1}`, []string{`duplicate field "a.b"`}, ""},
		{patch.Merge, `[]`, nil, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{patch.JSON, `[{"op":"add","path":"/a","value":{"x":1,"x":2},"values":1,"op":"add"}]`,
			[]string{`json patch duplicate field "[0].value.x"`, `json patch unknown field "[0].values"`, `json patch duplicate field "[0].op"`}, ""},
		{patch.JSON, `[{"OP":"add"}]`, []string{`json patch unknown field "[0].OP"`}, ""},
		{patch.JSON, `[{"op":1}]`, nil, "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"},
		{patch.JSON, `{}`, nil, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
		{patch.JSON, `[1]`, nil, "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"},
	} {
		d := tree.Acquire()
		root, err := d.Parse([]byte(c.patch), tree.Request, tree.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		p := patch.Document{Type: c.language, Doc: d, Root: root, Text: []byte(c.patch)}
		got, err := p.Decode()
		var texts []string
		for _, u := range got {
			texts = append(texts, u.Text)
		}
		if !slices.Equal(texts, c.want) {
			t.Errorf("%s: %q, want %q", c.patch, texts, c.want)
		}
		if e := new(patch.Error); c.rejected != "" && (!errors.As(err, &e) || e.Code != 400 || e.Text != c.rejected) {
			t.Errorf("%s: %v, want %s", c.patch, err, c.rejected)
		}
		d.Release()
	}
}

// TestHostile checks that patches that take an API server minutes, or all memory, end soon.
func TestHostile(t *testing.T) {
	operations := func(n int, op string) string { return "[" + strings.Repeat(op+",", n-1) + op + "]" }
	list := "[" + strings.Repeat("1,", 600_000) + "1]"
	text := strings.Repeat("x", 1<<20)
	const levels = 9_000
	deep := strings.Repeat("[", levels) + strings.Repeat("]", levels)
	wrap := `{"op":"add","path":"/b","value":` + deep + `},{"op":"move","from":"/a","path":"/b` + strings.Repeat("/0", levels-1) + `/-"},{"op":"move","from":"/b","path":"/a"}`
	nesting := `{"op":"add","path":"/a","value":[]},` + strings.Repeat(wrap+",", patch.MaxNested/levels) + wrap
	for _, c := range []struct {
		name, object, patch string
		code                int // 0: a limit
	}{
		{"too many operations", `{}`, operations(10_001, `{"op":"add","path":"/a","value":1}`), 413},
		{"copies that double", `{"a":{"b":"x"}}`, operations(10_000, `{"op":"copy","from":"/a","path":"/a/c"}`), 422},
		{"copies of a large value", `{"a":"` + text + `"}`, operations(10, `{"op":"copy","from":"/a","path":"/b"}`), 422},
		{"insertions at the head", `{"a":` + list + `}`, operations(10_000, `{"op":"add","path":"/a/0","value":1}`), 0},
		{"removals from the head", `{"a":` + list + `}`, operations(10_000, `{"op":"remove","path":"/a/0"}`), 0},
		{"lists put into lists", `{}`, "[" + nesting + "]", 0},
		{"lists put into lists, and copied", `{}`, "[" + nesting + `,{"op":"copy","from":"/a","path":"/c"},{"op":"remove","path":"/a"},{"op":"remove","path":"/c"}]`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, doc := tree.Acquire(), tree.Acquire()
			defer old.Release()
			defer doc.Release()
			root, _ := old.Parse([]byte(c.object), tree.Old, tree.Limits{})
			at, _ := doc.Parse([]byte(c.patch), tree.Request, tree.Limits{})
			start := testenv.CPUTime()
			_, err := patch.Apply(patch.Object{Doc: old, Root: root}, patch.Document{Type: patch.JSON, Doc: doc, Root: at, Text: []byte(c.patch)}, nil)
			if took := testenv.CPUTime() - start; took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			e, limit := new(patch.Error), new(tree.LimitError)
			if c.code == 0 && !errors.As(err, &limit) || c.code != 0 && (!errors.As(err, &e) || e.Code != c.code) {
				t.Errorf("got %v", err)
			}
		})
	}
	if a := ours(t, patch.JSON, fmt.Sprintf(`{"a":%s}`, list), operations(10_000, fmt.Sprintf(`{"op":"test","path":"/a","value":%s}`, "[1,2]"))); a.code != 422 {
		t.Errorf("tests of a long list: %+v", a)
	}
}

// TestMergeMemory checks that merging a large patch of small containers takes little more than its text, and that it
// can be interrupted.
func TestMergeMemory(t *testing.T) {
	old, doc := tree.Acquire(), tree.Acquire()
	defer old.Release()
	defer doc.Release()
	var text strings.Builder
	text.WriteString(`{"a":{"b":[`)
	for text.Len() < 3<<20-20 {
		text.WriteString(`{"a":[]},`)
	}
	text.WriteString(`{"a":null}]}}`)
	root, _ := old.Parse([]byte(`{"a":{"c":1}}`), tree.Old, tree.Limits{})
	at, err := doc.Parse([]byte(text.String()), tree.Request, tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p := patch.Document{Type: patch.Merge, Doc: doc, Root: at, Text: []byte(text.String())}
	done := make(chan struct{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tree, err := patch.Apply(patch.Object{Doc: old, Root: root}, p, interrupt.On(done))
	if err != nil {
		t.Fatal(err)
	}
	made := tree.AppendJSON(make([]byte, 0, text.Len()+100))
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
		t.Errorf("%d bytes allocated for a patch of %d", took, text.Len())
	}
	if want := text.Len() - len(`"a":null`) + len(`"c":1,`); len(made) != want {
		t.Errorf("%d bytes, want %d", len(made), want)
	}
	close(done)
	if stopped := tree.AppendJSON(nil); len(stopped) > 0 {
		t.Errorf("%d bytes after the signal", len(stopped))
	}
}
