package metadata

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// words are texts around the rules of names, and anything.
func words(r *rand.Rand) string {
	parts := []string{"a", "b", "Z", "9", "-", ".", "_", "/", "!", "é", "\xff", "", "app", "example.com", "a.b/c", strings.Repeat("x", 63), strings.Repeat("x.", 126)}
	text := ""
	for range r.IntN(4) {
		text += parts[r.IntN(len(parts))]
	}
	return text
}

func TestWordsAreUpstreams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		s := words(r)
		for what, pair := range map[string][2]func(string) []string{
			"subdomain":      {subdomainFaults, validation.IsDNS1123Subdomain},
			"label":          {labelFaults, validation.IsDNS1123Label},
			"qualified name": {qualifiedFaults, validation.IsQualifiedName},
			"label value":    {labelValueFaults, validation.IsValidLabelValue},
		} {
			if got, want := pair[0](s), pair[1](s); !slices.Equal(got, want) {
				t.Fatalf("%s %q: %q, want %q", what, s, got, want)
			}
		}
	}
}

// randomMeta is metadata as it is after it was coerced: without empty members.
func randomMeta(r *rand.Rand) map[string]any {
	m := map[string]any{"generation": 1}
	good := func(text string) string {
		if r.IntN(3) > 0 {
			return text
		}
		return words(r)
	}
	text := func(key, plain string) {
		if s := good(plain); s != "" && r.IntN(5) > 0 {
			m[key] = s
		}
	}
	text("name", "x")
	text("namespace", "d")
	for _, key := range []string{"labels", "annotations"} {
		entries := map[string]string{}
		for k := range r.IntN(4) {
			entries[good(fmt.Sprint("k", k))] = good("v")
		}
		if len(entries) > 0 {
			m[key] = entries
		}
	}
	var finalizers []string
	for k := range r.IntN(3) {
		finalizers = append(finalizers, good([]string{"a.b/c", "orphan", "foregroundDeletion"}[(k+r.IntN(9)/7)%3]))
	}
	if finalizers != nil {
		m["finalizers"] = finalizers
	}
	if r.IntN(9) == 0 {
		m["generateName"] = good("x-")
	}
	if r.IntN(9) == 0 {
		m["ownerReferences"] = []any{map[string]any{"apiVersion": good("v1"), "kind": good("Pod"), "name": "p", "uid": "1"}}
	}
	return m
}

// TestFaultsAreValidates: what Faults is sure of, Validate says too, word for word.
func TestFaultsAreValidates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	sure := 0
	for range 20_000 {
		text, err := json.Marshal(map[string]any{"metadata": randomMeta(r)})
		if err != nil {
			t.Fatal(err)
		}
		d := tree.Acquire()
		root, err := d.ParseJSON(text, tree.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		meta, namespaced := d.Field(root, "metadata"), r.IntN(2) == 0
		found, ok := Faults(d, meta, Rules{Namespaced: namespaced})
		if ok {
			sure++
			m, errs := FromTree(d, meta)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			want := Validate(m, namespaced)
			if got := violation.Errors(found); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("%s\ngot  %+v\nwant %+v", text, got, want)
			}
			for _, f := range found {
				if node, _ := d.Finder().Deepest(root, f.Path); node != f.Node {
					t.Fatalf("%s\n%s leads to node %d, not %d", text, f.Path, node, f.Node)
				}
			}
			if plain := Plain(d, meta, Rules{Namespaced: namespaced}); plain && len(found) > 0 {
				t.Fatalf("%s is plain, and not: %v", text, found)
			}
		}
		d.Release()
	}
	if sure < 10_000 {
		t.Errorf("sure %d times only", sure)
	}
}

func TestFaultsIsUnsure(t *testing.T) {
	many := map[string]string{}
	for k := range mostFaults + 1 {
		many[fmt.Sprint("!", k)] = ""
	}
	for what, m := range map[string]map[string]any{
		"one value twice": {"name": "x", "labels": map[string]string{"a": "!", "b": "!"}},
		"one key twice":   {"name": "x", "finalizers": []string{"!", "!"}},
		"exclusive":       {"name": "x", "finalizers": []string{"orphan", "foregroundDeletion"}},
		"owners":          {"name": "x", "ownerReferences": []any{map[string]any{"apiVersion": "", "kind": "Pod", "name": "p", "uid": "1"}}},
		"a prefix":        {"name": "x", "generateName": "!"},
		"many":            {"name": "x", "labels": many},
		"long":            {"name": "x", "annotations": map[string]string{"a": strings.Repeat("x", maxAnnotations)}},
		"not a text":      {"name": "x", "labels": map[string]any{"a": 1}},
		"unknown":         {"name": "x", "other": 1},
	} {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		d := tree.Acquire()
		root, err := d.ParseJSON(text, tree.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if found, ok := Faults(d, root, Rules{}); ok {
			t.Errorf("%s: sure of %v", what, found)
		}
		d.Release()
	}
}
