package document

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

func TestJSONPatch(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"the same", `{"a":1,"b":[1,{"c":null}]}`, `{"b":[1,{"c":null}],"a":1}`, ``},
		{"spelled otherwise", `{"a":1.0,"b":"\u0061","c":1e2}`, `{"a":1,"b":"a","c":100}`, ``},
		{"a field less", `{"spec":{"a":1,"x":true}}`, `{"spec":{"a":1}}`, `[{"op":"remove","path":"/spec/x"}]`},
		{"a field more", `{"spec":{"a":1}}`, `{"spec":{"a":1,"b":{"c":[]}}}`, `[{"op":"add","path":"/spec/b","value":{"c":[]}}]`},
		{"another value", `{"spec":{"name":"long enough to stay","n":1}}`, `{"spec":{"name":"long enough to stay","n":2}}`, `[{"op":"replace","path":"/spec/n","value":2}]`},
		{"another type", `{"a":[1]}`, `{"a":{"0":1}}`, `[{"op":"replace","path":"/a","value":{"0":1}}]`},
		{"null and nothing", `{"a":null,"b":{"c":1}}`, `{"b":{"c":1}}`, `[{"op":"remove","path":"/a"}]`},
		{"null and a value", `{"a":null}`, `{"a":[]}`, `[{"op":"replace","path":"/a","value":[]}]`},
		{"in an element", `{"l":[{"name":"some name that is long","x":1},{"name":"b"}]}`, `{"l":[{"name":"some name that is long"},{"name":"b"}]}`, `[{"op":"remove","path":"/l/0/x"}]`},
		{"another length", `{"l":[1,2]}`, `{"l":[1]}`, `[{"op":"replace","path":"/l","value":[1]}]`},
		{"escaped keys", `{"a/b":{"~":1,"":"x, and so on, and so on"}}`, `{"a/b":{"":"x, and so on, and so on"}}`, `[{"op":"remove","path":"/a~1b/~0"}]`},
		{"quotes in keys", `{"a\"b":1}`, `{"a\"b":"\u2028"}`, `[{"op":"replace","path":"/a\"b","value":"\u2028"}]`},
		{"more changes than it is long", `{"l":[{"a":1},{"a":1},{"a":1}]}`, `{"l":[{"a":2},{"a":2},{"a":2}]}`, `[{"op":"replace","path":"/l","value":[{"a":2},{"a":2},{"a":2}]}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := JSONPatch([]byte(c.from), []byte(c.to))
			if err != nil || string(got) != c.want {
				t.Errorf("%s, %v\nwant %s", got, err, c.want)
			}
			checkPatch(t, []byte(c.from), []byte(c.to))
		})
	}
	for _, from := range []string{`[]`, `{`, `1`, ``} {
		if patch, err := JSONPatch([]byte(from), []byte(`{}`)); err == nil {
			t.Errorf("%s: %s", from, patch)
		}
	}
}

// TestJSONPatchBelowALongKey: a patch does not repeat a long key in many operations. It replaces the container.
func TestJSONPatchBelowALongKey(t *testing.T) {
	const n = 2000
	object := func(element string) []byte {
		return []byte(`{"spec":{"` + strings.Repeat("k", 100_000) + `":[` + strings.Repeat(element+",", n) + `{}]}}`)
	}
	from, to := object(`{"x":null}`), object(`{}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	patch, err := JSONPatch(from, to)
	runtime.ReadMemStats(&after)
	if err != nil || len(patch) > len(to)+100 {
		t.Fatalf("%d bytes, %v", len(patch), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
		t.Errorf("it took %d MiB for objects of %d KiB", took>>20, len(from)>>10)
	}
}

// checkPatch applies a patch as an API server does.
func checkPatch(t *testing.T, from, to []byte) {
	t.Helper()
	patch, err := JSONPatch(from, to)
	if err != nil {
		t.Fatal(err)
	}
	got := from
	if patch != nil {
		operations, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			t.Fatalf("%v: %s", err, patch)
		}
		if got, err = operations.Apply(from); err != nil {
			t.Fatalf("%v: %s to %s", err, patch, from)
		}
	}
	if !reflect.DeepEqual(read(t, got), read(t, to)) {
		t.Fatalf("%s\nwith %s\nis   %s\nwant %s", from, patch, got, to)
	}
	if len(patch) > 2*(len(to)+len(from))+200 {
		t.Fatalf("the patch has %d bytes, the objects %d and %d", len(patch), len(from), len(to))
	}
}

func read(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// keys are some that are hard to write in a pointer.
var keys = []string{"a", "b", "c", "", "/", "~", "~1", "0", "1", "-", "a/b", "ü", `"`, "\\", "a b", "%7e", "metadata"}

func generate(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		m := map[string]any{}
		for range r.IntN(5) {
			m[keys[r.IntN(len(keys))]] = generate(r, depth-1)
		}
		return m
	case n < 4 && depth > 0:
		l := []any{}
		for range r.IntN(4) {
			l = append(l, generate(r, depth-1))
		}
		return l
	case n == 4:
		return nil
	case n == 5:
		return r.IntN(3)
	case n == 6:
		return strings.Repeat("text ", r.IntN(8))
	}
	return r.IntN(2) == 0
}

// mutate is a copy with some things changed.
func mutate(r *rand.Rand, v any, depth int) any {
	if r.IntN(8) == 0 {
		return generate(r, depth)
	}
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range v {
			if r.IntN(6) > 0 {
				m[k] = mutate(r, e, depth-1)
			}
		}
		if r.IntN(3) == 0 {
			m[keys[r.IntN(len(keys))]] = generate(r, depth-1)
		}
		return m
	case []any:
		l := []any{}
		for _, e := range v {
			l = append(l, mutate(r, e, depth-1))
		}
		return l
	}
	return v
}

// TestJSONPatchApplies: the patch of any two objects turns the one into the other.
func TestJSONPatchApplies(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 0))
		object := map[string]any{"apiVersion": "v1", "spec": generate(r, 5), keys[r.IntN(len(keys))]: generate(r, 3)}
		changed, ok := mutate(r, object, 5).(map[string]any)
		if !ok {
			continue
		}
		from, _ := json.Marshal(object)
		to, _ := json.Marshal(changed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkPatch(t, from, to) })
		if t.Failed() {
			return
		}
	}
}
