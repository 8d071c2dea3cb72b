package search_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// checker returns a generator for a schema, and a function that returns the faults of an object without rules.
func checker(t *testing.T, text string) (*sample.Generator, func(*sample.Tree) ([]sample.Fault, error)) {
	t.Helper()
	s := new(schema.Props)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(s, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := sample.New(s, sample.Options{APIVersion: "example.com/v1", Kind: "Thing", Namespaced: true})
	return g, func(o *sample.Tree) (faults []sample.Fault, err error) {
		d := tree.Acquire()
		defer d.Release()
		root, err := d.ParseJSON(o.JSON(), tree.Limits{})
		if err != nil {
			return nil, err
		}
		for _, v := range p.Explain(d, root, plan.At{}) {
			faults = append(faults, sample.Fault{Path: v.Path})
		}
		return faults, nil
	}
}

// TestValid checks that faults are repaired that the schema does not prevent.
func TestValid(t *testing.T) {
	g, faults := checker(t, `{"type":"object","required":["v"],"properties":{"v":{"type":"object","properties":{
		"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"array","items":{"type":"integer"}}},
		"not":{"properties":{"a":{"enum":["","a","b","x"]}}}}}}`)
	for seed := range uint64(50) {
		s := search.Valid(g, seed, faults)
		found, err := s.Run()
		if err != nil || found.Pair.Object == nil {
			t.Fatalf("seed %d: %+v, %v", seed, found, err)
		}
		if list, _ := faults(found.Pair.Object); len(list) > 0 || found.Nearest != nil {
			t.Errorf("%s is not valid: %v", found.Pair.Object.JSON(), list)
		}
	}
}

// TestNearest checks that a search without a result returns the object with the fewest faults.
func TestNearest(t *testing.T) {
	g, faults := checker(t, `{"type":"object","required":["a","b"],"properties":{
		"a":{"type":"integer","minimum":5,"maximum":4},"b":{"type":"integer","minimum":0}}}`)
	s := search.Valid(g, 1, faults)
	found, err := s.Run()
	if err != nil || found.Pair.Object != nil || found.Nearest == nil || len(found.Faults) != 1 || found.Tries > s.Tries {
		t.Errorf("%+v, %v", found, err)
	}
	failed := errors.New("not judged")
	s = search.Valid(g, 1, func(*sample.Tree) ([]sample.Fault, error) { return nil, failed })
	if _, err := s.Run(); !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
}

// TestPairs checks that the first pair that reaches the goal is taken and shrunk, and that its metadata is kept.
func TestPairs(t *testing.T) {
	var pairs []search.Pair
	for _, text := range []string{`{"spec":{"a":3}}`, `{"metadata":{"name":"x"},"spec":{"a":1000,"b":"text"}}`, `{"spec":{"a":2000}}`} {
		o := parsed(t, text)
		pairs = append(pairs, search.Pair{Object: o, Old: o})
	}
	large := func(p search.Pair) (search.Answer, error) {
		a := p.Object.Get("spec").Get("a")
		return search.Answer{Reached: a != nil && len(a.Text) > 2}, nil
	}
	for _, tc := range []struct {
		how       search.Shrinking
		want, old string
	}{
		{search.Everything, `{"metadata":{"name":"x"},"spec":{"a":100}}`, `{"metadata":{"name":"x"}}`},
		{search.Parts, `{"metadata":{"name":"x"},"spec":{"a":1000}}`, `{"metadata":{"name":"x"}}`},
		{search.Nothing, string(pairs[1].Object.JSON()), string(pairs[1].Object.JSON())},
	} {
		s := search.Search{Pairs: pairs, Tries: 3, Goal: func(p search.Pair) (search.Answer, error) {
			if p.Object.Get("spec") == nil {
				return search.Answer{}, nil
			}
			return large(p)
		}, Shrink: tc.how}
		found, err := s.Run()
		if err != nil || found.Tries != 2 || string(found.Pair.Object.JSON()) != tc.want ||
			string(found.Pair.Old.JSON()) != tc.old {
			t.Errorf("%v: %s (old %s), %d tries, %v", tc.how, found.Pair.Object.JSON(), found.Pair.Old.JSON(), found.Tries, err)
		}
	}
}

func parsed(t *testing.T, text string) *sample.Tree {
	t.Helper()
	o, err := sample.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestShrink(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	for _, tc := range []struct {
		name, object, want string
		holds              func(string) bool
	}{
		{"parts and scalars", `{"a":{"b":"some long text","c":[1,2,{"d":123,"e":2}]},"f":{"g":1.5}}`, `{"a":{"b":"","c":[{"d":0}]}}`,
			func(s string) bool { return strings.Contains(s, `"b":`) && strings.Contains(s, `{"d":`) }},
		{"a part of a string", `{"a":"a long text"}`, `{"a":"lo"}`, func(s string) bool { return strings.Contains(s, "lo") }},
		{"a long string", `{"a":"` + long + `"}`, `{"a":"` + long[:1<<16] + `"}`, func(s string) bool { return len(s) >= 1<<16+8 }},
		{"equal scalars", `{"a":"left","b":"left"}`, `{"a":"","b":""}`,
			func(s string) bool { return strings.Contains(s, `"b"`) && len(s)%2 == 1 && strings.Contains(s, `"a"`) }},
		{"a negative number", `{"a":-12345}`, `{"a":-10}`, func(s string) bool { return strings.Contains(s, `-`) && len(s) > 8 }},
		{"a float", `{"a":7.25}`, `{"a":3}`, func(s string) bool {
			return !strings.Contains(s, `:0`) && !strings.Contains(s, ":1") && !strings.Contains(s, ":2") && len(s) > 6
		}},
	} {
		o := parsed(t, tc.object)
		calls := 0
		search.Shrink(func() bool { calls++; return tc.holds(string(o.JSON())) }, 2000, o)
		if got := string(o.JSON()); got != tc.want {
			t.Errorf("%s: shrunk to %.100s in %d calls, want %.100s", tc.name, got, calls, tc.want)
		}
		before := string(o.JSON())
		search.Shrink(func() bool { calls++; return true }, 0, o)
		if string(o.JSON()) != before || calls > 2000 {
			t.Errorf("%s: the budget was exceeded", tc.name)
		}
	}
}
