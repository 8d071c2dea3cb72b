package cel

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/upstreamtests"
	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// frame turns an expression of any type into a rule. The added text has a constant cost, and prevents constant folding.
func frame(expression string) string { return "[dyn(" + expression + "), dyn(self.b)].size() == 2" }

// TestPinnedLibraryCosts tests the costs and estimates in the tests of Kubernetes' functions. Those tests run without
// cel-go's optimizations, which API servers enable. Where upstream's own cost differs for this reason, ours is compared
// with upstream's.
func TestPinnedLibraryCosts(t *testing.T) {
	schema := jsontree.Obj("type", "object", "properties", jsontree.Obj("b", jsontree.Obj("type", "boolean")))
	v := Values{Self: jsontree.Obj("b", true)}
	measure := func(text_ string) (cost, estimate uint64, ok bool) {
		t.Helper()
		p, diffs, out := guardPair(&Case{Schema: schema, Rules: []Rule{{rule: text(text_)}}}, &Counts{})
		if p == nil {
			t.Errorf("%s: %v (%v)", text_, diffs, out)
			return 0, 0, false
		}
		if diffs, out := guardValue(p, v, &Counts{}); out == different {
			t.Errorf("%s: %v", text_, diffs)
		}
		if p.up.compiled[0].Program == nil {
			return 0, 0, false
		}
		d, err := p.ours.document(v)
		if err != nil {
			t.Fatal(err)
		}
		defer d.doc.Release()
		if p.ours.closures[0] == nil {
			t.Logf("%s: %s", text_, p.ours.missing[0]) // evaluated by cel-go
			return 0, 0, false
		}
		out_, cost := p.ours.closure(0, d, rule.PerCallLimit)
		return cost, p.ours.facts(celenv.Stored())[0].Cost, out_ == closure.True
	}
	around, aroundEstimate, ok := measure(frame("self.b"))
	if !ok {
		t.Fatal("the frame does not hold")
	}
	around, aroundEstimate = around-2, aroundEstimate-2 // self and its field
	pinned, optimized, estimates, rejected, open := 0, 0, 0, 0, 0
	for _, row := range rows(t, upstreamtests.Libraries) {
		if strings.Contains(row.Rule, "jsonpatch.") {
			rejected++ // only for mutating policies
			continue
		}
		cost, estimate, ok := measure(frame(row.Rule))
		switch {
		case !ok:
			open++
			t.Logf("rejected, or left to replay: %s", row.Rule)
		case cost-around == row.Cost:
			pinned++
		default:
			optimized++
		}
		if ok && estimate-aroundEstimate == row.Max {
			estimates++
		}
	}
	t.Logf("%d costs as pinned, %d estimates; %d cost less with optimizations, %d are rejected or left to replay, %d are not for rules", pinned, estimates, optimized, open, rejected)
	if pinned < 100 || estimates < 145 || open > 60 {
		t.Error("too few are as pinned")
	}
}
