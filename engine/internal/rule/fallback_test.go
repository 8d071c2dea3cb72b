package rule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// fallbackSet is a Set of one rule that no closure answers for {"m":{}}.
func fallbackSet(t testing.TB, rule string) *Set {
	t.Helper()
	s := props(t, fmt.Sprintf(`{type: object, properties: {m: {type: object, additionalProperties: {type: string}}}, x-kubernetes-validations: [{rule: %q}]}`, rule))
	return compile(t, celcheck.NewShared().Field(s), s.XValidations)
}

// termsOf is a rule of so many terms.
func termsOf(terms int) string {
	return strings.Repeat("self.m['k'] == 'x' || ", terms) + "true"
}

// evaluate runs a Set on {"m":{}}, and reports whether it came to an end.
func evaluate(t testing.TB, set *Set, s *interrupt.Signal) bool {
	t.Helper()
	d := tree.Acquire()
	defer d.Release()
	r := Start(d)
	defer r.Close()
	r.Stop = s
	more := set.Evaluate(r, Site{Self: parse(t, d, `{"m":{}}`, tree.Request), Position: testPosition{}})
	if len(r.Found) > 0 {
		t.Errorf("found %v", r.Found[0].Error)
	}
	return more
}

// TestEqualSetsAreOne: equal rules over equal types compile to one Set.
func TestEqualSetsAreOne(t *testing.T) {
	s := props(t, `{type: object, properties: {a: {type: object, properties: {x: {type: string, maxLength: 5}}}, `+
		`b: {type: object, properties: {x: {type: string, maxLength: 9}}}}, x-kubernetes-validations: [{rule: "self.x == self.x"}]}`)
	root := celcheck.NewShared().Root(s)
	if compile(t, root.Property("a"), s.XValidations) != compile(t, root.Property("b"), s.XValidations) {
		t.Error("two sets")
	}
}

// TestFallbackIsInterrupted: a compilation that takes long ends with the run, and the next run can use the set.
func TestFallbackIsInterrupted(t *testing.T) {
	set := fallbackSet(t, termsOf(500))
	done := make(chan struct{})
	close(done)
	if evaluate(t, set, interrupt.On(done)) {
		t.Error("the evaluation was not interrupted")
	}
	if !evaluate(t, set, interrupt.On(make(chan struct{}))) {
		t.Error("the evaluation was interrupted")
	}
}

// TestTracingKeepsDeadlines: a trace compiles the rule once more.
func TestTracingKeepsDeadlines(t *testing.T) {
	done := make(chan struct{})
	close(done)
	key := programKey{declared: fallbackSet(t, "true").declared, text: termsOf(200)}
	if p, ok := planTrace(key, interrupt.On(done)); p != nil || ok {
		t.Error("waited")
	}
	if p, ok := planTrace(key, nil); p == nil || !ok {
		t.Error("no program")
	}
}

// TestFallbackOrder: what depends on the order of a map's keys is always the same, that of the document.
func TestFallbackOrder(t *testing.T) {
	s := `{type: object, properties: {m: {type: object, additionalProperties: {type: string}}, n: {type: integer}}, x-kubernetes-validations: [` +
		`{rule: "self.m.map(k, int(self.m[k])).size() == 2", message: a}, {rule: "self.m.exists(k, k == 'b')"}, {rule: "self.m.map(k, k)[0] == 'c'", message: b}, ` +
		`{rule: "self.m.transformMap(k, v, k).map(k, k)[0] == 'a'", message: c}, {rule: "{'b': 1, 'a': 2}.exists(k, k == 'a')"}, ` +
		`{rule: "{self.m.a: 1, self.m.c: 2, 'w': 3}.map(k, k) == ['w', 'x', 'y']", message: d}]}`
	var first evaluated
	for i := range 20 {
		got := trial{schema: s, self: `{"m":{"c":"x","a":"y","b":"z"}}`, notRoot: true, noClosures: i%2 == 0}.evaluate(t)
		if i == 0 {
			first = got
		}
		if fmt.Sprint(got.found, got.left) != fmt.Sprint(first.found, first.left) {
			t.Fatalf("%v with %d left, once %v with %d", got.found, got.left, first.found, first.left)
		}
	}
	const want = `[spec: Invalid value: "object": type conversion error from 'string' to 'int' evaluating rule: a]`
	if fmt.Sprint(first.found) != want {
		t.Errorf("got %v, want %s", first.found, want)
	}
}
