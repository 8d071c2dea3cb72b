package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/hint"
	"github.com/crdeval/crdeval/engine/testenv"
)

// hintCases reads testdata/hints.txt: the CRD, and titles with objects and their hints.
func hintCases(t testing.TB) (crd string, cases [][3]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/hints.txt")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split("\n"+string(text), "\n== ")
	for _, s := range sections[1:] {
		title, body, _ := strings.Cut(s, "\n")
		if title == "crd" {
			crd = body
			continue
		}
		object, hints, found := strings.Cut(body, "\n--\n")
		if !found {
			t.Fatalf("%s: no hints", title)
		}
		cases = append(cases, [3]string{title, object, strings.TrimSpace(hints)})
	}
	return crd, cases
}

func compiled(t testing.TB, crd string) *engine.Definition {
	t.Helper()
	d, report, err := engine.Compile(context.Background(), engine.YAML([]byte(crd)), engine.Options{})
	if err != nil || d == nil {
		t.Fatalf("%v %+v", err, report)
	}
	return d
}

func TestHints(t *testing.T) {
	crd, cases := hintCases(t)
	d := compiled(t, crd)
	for _, c := range cases {
		t.Run(c[0], func(t *testing.T) {
			v, err := d.Validate(context.Background(), engine.Create{Object: engine.YAML([]byte(c[1]))}, engine.ValidateOptions{CompleteMetadata: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := hinted(v); got != c[2] {
				t.Errorf("got\n%s\nwant\n%s", got, c[2])
			}
			verdict, err := d.Validate(context.Background(), engine.Create{Object: engine.YAML([]byte(c[1]))}, engine.ValidateOptions{CompleteMetadata: true, Brief: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range verdict.Violations {
				if one.Hint != nil {
					t.Errorf("a hint where the verdict alone was asked for: %+v", one.Hint)
				}
			}
		})
	}
}

// hinted renders the hints of a verdict as testdata/hints.txt has them.
func hinted(v *engine.Verdict) string {
	var lines []string
	line := func(what string, at *engine.Position, h *engine.Hint) {
		place := ""
		if at != nil {
			place = fmt.Sprintf(" (line %d, column %d)", at.Line, at.Column)
		}
		said := "no hint"
		if h != nil {
			said = h.Text
			if h.Pointer != "" {
				said += " [" + h.Pointer + "]"
			}
			if h.Replacement != nil {
				said += " [" + string(h.Replacement) + "]"
			}
		}
		lines = append(lines, what+place+": "+said)
	}
	for _, one := range v.Violations {
		line(one.Type+" "+one.Field, one.Position, one.Hint)
	}
	for _, one := range v.Pruned {
		line("unknown "+one.Path, one.Position, one.Hint)
	}
	return strings.Join(lines, "\n")
}

// TestHintsAreBounded: whatever an object and a CRD are made of, hints take little time, and there are not too many.
func TestHintsAreBounded(t *testing.T) {
	var properties, spec, items strings.Builder
	for i := range 900 {
		fmt.Fprintf(&properties, "%q:{\"type\":\"string\"},", fmt.Sprintf("%s%04d", strings.Repeat("x", 50), i))
		fmt.Fprintf(&spec, "%q:1,", fmt.Sprintf("%s%04dy", strings.Repeat("x", 49), i))
		fmt.Fprintf(&items, "{%q:%q},", strings.Repeat("k", 2000), "v")
	}
	crd := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com",
		"scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","listKind":"CronTabList"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{` + properties.String() + `"z":{"type":"array","items":{"type":"object","properties":{"q":{"type":"string"}}}}}}}}}}]}}`
	d := compiled(t, crd)
	object := `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default"},"spec":{` + spec.String() +
		`"z":[` + strings.TrimSuffix(items.String(), ",") + `]}}`
	start := testenv.CPUTime()
	v, err := d.Validate(context.Background(), engine.Create{Object: engine.JSON([]byte(object))}, engine.ValidateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	took := testenv.CPUTime() - start
	start = testenv.CPUTime()
	if _, err := d.Validate(context.Background(), engine.Create{Object: engine.JSON([]byte(object))}, engine.ValidateOptions{Brief: true}); err != nil {
		t.Fatal(err)
	}
	without := testenv.CPUTime() - start
	given := 0
	for _, p := range v.Pruned {
		if p.Hint != nil {
			given++
		}
	}
	t.Logf("%d unknown fields, %d hints, %v with and %v without telling", len(v.Pruned), given, took, without)
	if given > hint.MaxHints {
		t.Errorf("%d hints", given)
	}
	if took > 2*time.Second+20*without {
		t.Errorf("took %v, and %v without hints", took, without)
	}
}

// BenchmarkHints compares the answers to wrong objects with their hints and without: what hints cost where something is
// wrong.
func BenchmarkHints(b *testing.B) {
	crd, cases := hintCases(b)
	d := compiled(b, crd)
	for _, brief := range []bool{false, true} {
		name := "told"
		if brief {
			name = "verdict"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				object := engine.YAML([]byte(cases[i%len(cases)][1]))
				if _, err := d.Validate(context.Background(), engine.Create{Object: object}, engine.ValidateOptions{Brief: brief}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHintsOfManyNames: ten fields that are unknown where ten thousand of the same letters are declared.
func BenchmarkHintsOfManyNames(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	fields := func(n int, value string) string {
		var text strings.Builder
		for i := range n {
			if i > 0 {
				text.WriteByte(',')
			}
			name := make([]byte, 30)
			for k := range name {
				name[k] = "abcdefgh"[r.IntN(8)]
			}
			fmt.Fprintf(&text, "%q:%s", name, value)
		}
		return text.String()
	}
	d := compiled(b, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com",
		"scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","listKind":"CronTabList"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{`+fields(10_000, `{"type":"string"}`)+`}}}}}}]}}`)
	object := engine.JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default"},"spec":{` + fields(10, "1") + `}}`))
	for name, brief := range map[string]bool{"told": false, "verdict": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := d.Validate(context.Background(), engine.Create{Object: object}, engine.ValidateOptions{Brief: brief}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
