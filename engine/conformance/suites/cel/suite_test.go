package cel

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestRunAgrees is a short run of the suite of make conformance.
func TestRunAgrees(t *testing.T) {
	var log strings.Builder
	cases := testenv.Volume(200)
	n := Run(Options{N: cases, Seed: 1, Log: &log})
	if n.Failed() {
		t.Errorf("%s\n%s\n%s", &n, n.Detail(), log.String())
	}
	if n.Cases < cases || n.Clean == 0 || n.CleanAnswered*100 < n.Clean*60 {
		t.Errorf("a run of little use: %s\n%s", &n, n.Detail())
	}
}

// TestShrinkExpression: the relevant part remains, with little around it.
func TestShrinkExpression(t *testing.T) {
	matters := call("size", text("'matters'"))
	e := infix(infix(matters, "==", text("7")), "&&", joined(true, "[$, $].all(x, $)", text("1"), text("2"), infix(text("x"), ">", text("0"))))
	got := shrinkExpression(e, func(e *expression) bool { return strings.Contains(e.String(), "size('matters')") })
	if got.String() != "size('matters')" {
		t.Errorf("got %s", got)
	}
}

// TestSignature: the same error with other values has the same signature.
func TestSignature(t *testing.T) {
	a := signature([]string{"closure of rule 0: 1 at cost 3; upstream: {Value:false Error: Cost:4}"})
	b := signature([]string{"closure of rule 2: 1 at cost 13; upstream: {Value:false Error: Cost:14}"})
	if a != b {
		t.Errorf("%q is not %q", a, b)
	}
}

// TestUpstreamPanics: rules that make upstream's compiler panic, so that an API server answers 500, are rejected.
func TestUpstreamPanics(t *testing.T) {
	schema := jsontree.Obj("type", "object", "properties", jsontree.Obj("x", jsontree.Obj("x-kubernetes-int-or-string", true)))
	for _, r := range []string{"[?self.x].size() == 1", "{?'a': self.x}.size() == 1", "[?dyn(1), ?self.x].size() == 1", "{b'a': 1}.size() == 1", "{dyn(b''): 1}[dyn(1)] == 1"} {
		if _, diffs, out := pair(&Case{Schema: schema, Rules: []Rule{{rule: text(r)}}}, &Counts{}); out != crashed {
			t.Errorf("%s: outcome %d, %v", r, out, diffs)
		}
	}
}
