package patch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// init makes the library what it is in an API server.
func init() { jsonpatch.AccumulatedCopySizeLimit = patch.MaxCopied }

// answer is what becomes of a patch: the printed result, or the code of the rejection.
type answer struct {
	code           int
	printed, plain string
	detail         string
}

// ours applies a patch. The object is the stored one; a server prints it before it patches.
func ours(t testing.TB, language patch.Type, object, text string) (a answer) {
	t.Helper()
	old, doc := tree.Acquire(), tree.Acquire()
	defer old.Release()
	defer doc.Release()
	root, err := old.Parse([]byte(object), tree.Old, tree.Limits{})
	if err != nil {
		t.Fatalf("object %s: %v", object, err)
	}
	at, err := doc.Parse([]byte(text), tree.Request, tree.Limits{})
	if err != nil {
		return answer{code: 400, detail: err.Error()}
	}
	p := patch.Document{Type: language, Doc: doc, Root: at, Text: []byte(text)}
	made, err := patch.Apply(patch.Object{Doc: old, Root: root}, p, nil)
	if err != nil {
		return rejection(t, err)
	}
	return answer{printed: string(made.Printed()), plain: string(made.AppendJSON(nil))}
}

func rejection(t testing.TB, err error) answer {
	t.Helper()
	var e *patch.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is not a rejection", err)
	}
	return answer{code: e.Code, detail: e.Error()}
}

// theirs applies a patch as an API server does.
func theirs(language patch.Type, object, text string) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{code: 500, detail: fmt.Sprint(p)}
		}
	}()
	if !json.Valid([]byte(text)) {
		return answer{code: 400, detail: "invalid JSON patch"}
	}
	var held any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(object), &held); err != nil {
		panic(err)
	}
	canonical, _ := json.Marshal(held)
	if language == patch.Merge {
		made, err := jsonpatch.MergePatch(canonical, []byte(text))
		if err != nil {
			return answer{code: 400, detail: err.Error()}
		}
		return answer{printed: string(made)}
	}
	operations, err := jsonpatch.DecodePatch([]byte(text))
	if err != nil {
		return answer{code: 400, detail: err.Error()}
	}
	if len(operations) > patch.MaxOperations {
		return answer{code: 413}
	}
	made, err := operations.Apply(canonical)
	if err != nil {
		return answer{code: 422, detail: err.Error()}
	}
	return answer{printed: string(made)}
}

// agree fails unless both answer the same, and the two printers the same value.
func agree(t testing.TB, language patch.Type, object, text string) answer {
	t.Helper()
	a, b := ours(t, language, object, text), theirs(language, object, text)
	for again := 0; again < 20 && b.code == 500 && a.code == 422; again++ {
		b = theirs(language, object, text) // whether it finds the difference or crashes is chance
	}
	if a.code != b.code || a.printed != b.printed {
		t.Fatalf("object %s\npatch %s\nours   %d %s (%s)\ntheirs %d %s (%s)", object, text, a.code, a.printed, a.detail, b.code, b.printed, b.detail)
	}
	if a.code == 0 && !sameValue(a.plain, a.printed) {
		t.Fatalf("object %s\npatch %s\nprinted in its own order %s\nprinted as upstream %s", object, text, a.plain, a.printed)
	}
	return a
}

func sameValue(a, b string) bool {
	da, db := tree.Acquire(), tree.Acquire()
	defer da.Release()
	defer db.Release()
	ra, err := da.Parse([]byte(a), tree.Request, tree.Limits{})
	rb, err2 := db.Parse([]byte(b), tree.Request, tree.Limits{})
	return err == nil && err2 == nil && tree.Equal(da, ra, db, rb)
}

// TestAgreement puts random patches to ours and to the library.
func TestAgreement(t *testing.T) {
	n := testenv.Volume(20_000)
	applied := map[int]int{}
	for seed := range n {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 6902))}
		object := g.object(3)
		if seed%3 == 0 {
			applied[agree(t, patch.Merge, object, g.any(3)).code]++
			continue
		}
		applied[agree(t, patch.JSON, object, g.operations()).code]++
	}
	for code, least := range map[int]int{0: n / 10, 400: n / 100, 422: n / 10, 500: 1} {
		if applied[code] < least {
			t.Errorf("answers by code: %v: too few of %d", applied, code)
		}
	}
}

type generator struct{ *rand.Rand }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) key() string { return g.pick("a", "b", "c", "a", "b", "", "a/b", "m~n", "0", "<") }

func (g generator) any(depth int) string {
	if depth > 0 {
		switch g.IntN(3) {
		case 0:
			return g.object(depth - 1)
		case 1:
			return g.list(depth - 1)
		}
	}
	return g.pick("null", "null", "1", "1.0", "1e2", "true", `"x"`, `"a<b"`, `"a\u003cb"`, `"\u0041"`, `"A"`, `"é"`, "-0", "0", `"&"`, "\"\u2028\"")
}

func (g generator) object(depth int) string {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range g.IntN(4) {
		if i > 0 {
			b.WriteString(g.pick(",", " , "))
		}
		k, _ := json.Marshal(g.key())
		fmt.Fprintf(&b, "%s:%s", k, g.any(depth))
	}
	b.WriteByte('}')
	return b.String()
}

func (g generator) list(depth int) string {
	items := make([]string, g.IntN(4))
	for i := range items {
		items[i] = g.any(depth)
	}
	return "[" + strings.Join(items, g.pick(",", " , ")) + "]"
}

func (g generator) path() string {
	if g.IntN(25) == 0 {
		return g.pick("", "a", "a/b", "/")
	}
	text := ""
	for range 1 + g.IntN(3) {
		text += "/" + g.pick("a", "b", "c", "a", "b", "0", "1", "-", "-1", "", "a~1b", "m~0n", "5", "+1", "x", "<")
	}
	return text
}

func (g generator) operations() string {
	ops := make([]string, 1+g.IntN(5))
	for i := range ops {
		ops[i] = g.operation()
	}
	if g.IntN(60) == 0 {
		return g.any(2)
	}
	return "[" + strings.Join(ops, ",") + "]"
}

func (g generator) operation() string {
	if g.IntN(60) == 0 {
		return g.any(2)
	}
	var parts []string
	add := func(k, v string) { parts = append(parts, fmt.Sprintf("%q:%s", k, v)) }
	op := g.pick("add", "add", "add", "remove", "replace", "move", "copy", "copy", "test", "test")
	if g.IntN(80) == 0 {
		op = g.pick("", "patch", "ADD")
	}
	add("op", fmt.Sprintf("%q", op))
	from, path := g.path(), g.path()
	if g.IntN(6) == 0 {
		path = from + path // into itself
	}
	if g.IntN(80) == 0 {
		add("path", g.any(1))
	} else if g.IntN(80) > 0 {
		add("path", fmt.Sprintf("%q", path))
	}
	if op == "move" || op == "copy" {
		add("from", fmt.Sprintf("%q", from))
	}
	if (op == "add" || op == "replace" || op == "test") && g.IntN(20) > 0 {
		add("value", g.any(2))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// FuzzApply: whatever object and patch, nothing panics, and the answer is the library's.
func FuzzApply(f *testing.F) {
	f.Add(`{"a":[1,null]}`, `[{"op":"test","path":"/a","value":[1,2]}]`, true)
	f.Add(`{"a":{"b":1}}`, `{"a":{"b":null,"c":[{"d":null}]}}`, false)
	f.Add(`{"a":null}`, `[{"op":"add","path":"/b","value":null},{"op":"copy","from":"/b","path":"/c"},{"op":"add","path":"/c/d","value":1}]`, true)
	f.Fuzz(func(t *testing.T, object, text string, operations bool) {
		if len(object)+len(text) > 4096 {
			return
		}
		d := tree.Acquire()
		defer d.Release()
		root, err := d.Parse([]byte(object), tree.Request, tree.Limits{})
		if err != nil || d.Nodes[root].Kind != tree.Object {
			return
		}
		if _, err := d.Parse([]byte(text), tree.Old, tree.Limits{}); err != nil {
			return // what upstream reads and we do not: a number outside of float64
		}
		canonical := string(d.AppendCanonical(nil, root)) // with upstream's numbers
		language := patch.Merge
		if operations {
			language = patch.JSON
		}
		if a := ours(t, language, canonical, text); a.code == 500 {
			return // upstream crashes on some of these at random
		}
		agree(t, language, canonical, text)
	})
}

// TestStopped checks that a stopped patch ends with ErrStopped.
func TestStopped(t *testing.T) {
	done := make(chan struct{})
	close(done)
	old, doc := tree.Acquire(), tree.Acquire()
	defer old.Release()
	defer doc.Release()
	root, _ := old.Parse([]byte(`{"a":1}`), tree.Old, tree.Limits{})
	for language, text := range map[patch.Type]string{patch.Merge: `{"a":2}`, patch.JSON: `[{"op":"remove","path":"/a"}]`} {
		at, _ := doc.Parse([]byte(text), tree.Request, tree.Limits{})
		if _, err := patch.Apply(patch.Object{Doc: old, Root: root}, patch.Document{Type: language, Doc: doc, Root: at, Text: []byte(text)}, interrupt.On(done)); !errors.Is(err, tree.ErrStopped) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
