package diagnosis

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// FuzzFixes offers all fixes of all fields of a text, and checks that none panics or makes the text unreadable.
func FuzzFixes(f *testing.F) {
	for _, seed := range []string{
		"a: 1\nb:\n- c: {d: [e, f]}\n  g: |+\n    h\n\n", "{\"a\": {\"b\": [1, 2]}, \"c\": {}}", "- - a\n  - b: 1\n- c",
		"a: 'x'\nb: \"y\" # z\nc: {}\n", "a: &x {b: 1}\nc: *x\n<<: *x\n", "? a\n: b\n", "--- # a\na: !t\n  b: 1\n  c: 2\n...\n",
		"a: {b: 1, # c\n  d: 2,}\n", "\ufeffa: ü\nb:\tc\n", "a: 1\r\nb:\r\n  c: 2\r\n",
		"a:\n  - b: x\n    c: >-\n      d\n\n  # e\n  - f: 1", "!\r!\r\n\r\n", "...\na: b\n", "--- a\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		for _, m := range workspace.Read([]byte(text)) {
			fuzzFixes(t, New(m, 1<<16))
		}
	})
}

func fuzzFixes(t *testing.T, d *Document) {
	start, end := d.RangeOf(&Finding{})
	if start < 0 || end < start || end > len(d.Text) {
		t.Errorf("range %d to %d of %q", start, end, d.Text)
	}
	if d.Err == nil {
		text := d.Text
		left := 20
		var visit func(pointer string, v any)
		visit = func(pointer string, v any) {
			if left--; left < 0 {
				return
			}
			hint := func(to string) *engine.FieldChange {
				return &engine.FieldChange{Pointer: pointer, Hint: &engine.Hint{Pointer: to}}
			}
			list := d.Change(pointer, json.RawMessage(`"new"`), json.RawMessage(`[1]`))
			list = append(list, d.Unknown(hint(Parent(pointer)+"/new"))...)
			list = append(list, d.Unknown(hint("/new"))...)
			list = append(list, d.add(pointer+"/new", &Schema{Type: "object"})...)
			for _, fix := range list {
				if after, ok := Apply(text, fix.Edits); !ok || readable(after) != readable(text) {
					t.Errorf("%s at %q of %q: %+v", fix.Title, pointer, text, fix.Edits)
				}
			}
			switch v := v.(type) {
			case map[string]any:
				for _, key := range slices.Sorted(maps.Keys(v)) {
					visit(pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), v[key])
				}
			case []any:
				for i := range v {
					visit(pointer+"/"+strconv.Itoa(i), v[i])
				}
			}
		}
		visit("", d.value)
	}
}

// readable returns the number of manifests of a text that can be read.
func readable(text string) (count int) {
	for _, m := range workspace.Read([]byte(text)) {
		if m.Err == nil {
			count++
		}
	}
	return count
}
