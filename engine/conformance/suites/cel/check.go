package cel

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	upstreamcel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// reruns is the number of times that upstream runs again if its answer can depend on the random order of Go maps.
const reruns = 2048

// outcome is the result of a comparison.
type outcome int

const (
	same outcome = iota
	unordered
	different
	crashed // upstream panicked: there is nothing to compare
)

// pairing is a schema with rules, compiled by both sides.
type pairing struct {
	c    *Case
	up   *upstream
	ours *ours
}

// pair compiles a case with both sides and compares the facts about its rules.
func pair(c *Case, n *Counts) (p *pairing, diffs []string, out outcome) {
	up, err := newUpstream(c)
	if panicked := (crash{}); errors.As(err, &panicked) {
		our, err := newOurs(c)
		if err != nil {
			return nil, []string{"upstream panicked; ours: " + err.Error()}, different
		}
		for _, f := range our.facts(celenv.Stored()) {
			if f.Error != "" || f.MessageError != "" {
				return nil, nil, crashed
			}
		}
		return nil, []string{"upstream panicked; ours has nothing against it"}, different
	}
	if err != nil {
		return nil, []string{"upstream: " + err.Error()}, different
	}
	our, err := newOurs(c)
	if err != nil {
		return nil, []string{"ours: " + err.Error()}, different
	}
	for _, env := range []struct {
		name string
		load upstreamcel.EnvLoader
		ours *celenv.Env
	}{{"stored", upstreamcel.StoredExpressionsEnvLoader(), celenv.Stored()}, {"new", upstreamcel.NewExpressionsEnvLoader(), newExpressions}} {
		results := up.compiled
		if env.name == "new" {
			if results, err = up.compile(env.load); err != nil {
				continue
			}
		}
		want, got := facts(results), our.facts(env.ours)
		for i := range want {
			if want[i] != got[i] {
				diffs = append(diffs, fmt.Sprintf("%s rule %d:\n    upstream %+v\n    ours     %+v", env.name, i, want[i], got[i]))
			}
		}
	}
	if len(diffs) > 0 {
		return nil, diffs, different
	}
	n.compiled(our, up)
	return &pairing{c, up, our}, nil, same
}

// newExpressions is the environment for new rules.
var newExpressions = must(celenv.ForMinor(celenv.NewMinor))

// value compares the results for a value.
func (p *pairing) value(v Values, n *Counts) (diffs []string, out outcome) {
	self, old, err := v.decode()
	if err != nil {
		return []string{err.Error()}, different
	}
	d, err := p.ours.document(v)
	if err != nil {
		return []string{"ours: " + err.Error()}, different
	}
	defer d.doc.Release()
	out = same
	worst := func(o outcome, diff string) {
		if o == different {
			diffs = append(diffs, diff)
		}
		if o == different || o == unordered && out == same {
			out = o
		}
	}
	for i := range p.up.compiled {
		if p.up.compiled[i].Program != nil && (!p.up.compiled[i].UsesOldSelf || old != nil || p.c.Rules[i].Optional) {
			p.closure(i, self, old, d, n, worst)
		}
	}
	total := p.verdicts(self, old, d, rule.PerCallLimit, celconfig.RuntimeCELCostBudget, worst)
	if total > 1 {
		for _, budget := range []int64{total - 1, total, total + 1} {
			p.verdicts(self, old, d, rule.PerCallLimit, budget, worst)
		}
	}
	return diffs, out
}

// verdicts compares the validators, with and without closures, and returns the cost, or 0 if the budget is exceeded.
func (p *pairing) verdicts(self, old any, d document, limit uint64, budget int64, report func(outcome, string)) int64 {
	want := p.up.judge(self, old, limit, budget)
	for _, closures := range []bool{false, true} {
		got := p.ours.judge(d, limit, budget, closures)
		if got.equal(want) {
			continue
		}
		o := different
		for range reruns {
			if got.equal(p.up.judge(self, old, limit, budget)) {
				o = unordered
				break
			}
		}
		report(o, fmt.Sprintf("verdict (%s) (limit %d, budget %d, closures %v):\n    upstream %d left, %q\n    ours     %d left, %q", got.unlike(want), limit, budget, closures, want.Left, want.Violations, got.Left, got.Violations))
	}
	if want.Left < 0 {
		return 0
	}
	return budget - want.Left
}

// unlike describes briefly how a verdict differs from upstream's, without the values of the case.
func (v Verdict) unlike(want Verdict) string {
	for i := range max(len(v.Violations), len(want.Violations)) {
		got, expected := "nothing", "nothing"
		if i < len(v.Violations) {
			got = v.Violations[i]
		}
		if i < len(want.Violations) {
			expected = want.Violations[i]
		}
		if got != expected {
			return "upstream: " + cause(expected) + "; ours: " + cause(got)
		}
	}
	return "cost"
}

// cause returns a field error without its rule and its values.
func cause(text string) string {
	for _, end := range []string{" evaluating rule: ", " for rule: ", "failed rule: ", "ERROR: <input>", " for messageExpression: "} {
		if at := strings.Index(text, end); at >= 0 {
			text = text[:at+len(end)-1]
		}
	}
	if len(text) > 160 {
		text = text[:160]
	}
	return literalText.ReplaceAllString(text, "_")
}

func (v Verdict) equal(w Verdict) bool {
	return v.Left == w.Left && slices.Equal(v.Violations, w.Violations)
}

// closure checks the i-th rule's closure: its result must be upstream's value at upstream's cost, and it must not
// return a result above the limit.
func (p *pairing) closure(i int, self, old any, d document, n *Counts, report func(outcome, string)) {
	want := p.up.evaluate(i, self, old)
	clean := want.Error == "" && (want.Value == "true" || want.Value == "false")
	if p.ours.closures[i] == nil {
		n.evaluated(clean, false)
		return
	}
	got, cost := p.ours.closure(i, d, rule.PerCallLimit)
	n.evaluated(clean, got != closure.Unknown)
	if got == closure.Unknown {
		return
	}
	agree := func(want Result) bool {
		return want.Error == "" && want.Value == map[closure.Outcome]string{closure.True: "true", closure.False: "false"}[got] && want.Cost == cost
	}
	if !agree(want) {
		o := different
		for range reruns {
			if agree(p.up.evaluate(i, self, old)) {
				o = unordered
				break
			}
		}
		report(o, fmt.Sprintf("closure of rule %d: %v at cost %d; upstream: %+v", i, got, cost, want))
		return
	}
	if again, c := p.ours.closure(i, d, cost); again != closure.Unknown && (again != got || c != cost) { // near the limit it can leave the result to cel-go
		report(different, fmt.Sprintf("closure of rule %d with the limit at its cost %d: %v at %d instead of %v", i, cost, again, c, got))
	}
	if cost > 0 {
		if again, _ := p.ours.closure(i, d, cost-1); again != closure.Unknown {
			report(different, fmt.Sprintf("closure of rule %d with the limit below its cost %d: %v", i, cost, again))
		}
	}
}

// limits compares one rule alone with limits at and near its cost.
func limits(c *Case, v Values) (diffs []string, out outcome) {
	p, diffs, out := pair(c, &Counts{})
	if p == nil || p.up.compiled[0].Program == nil {
		return diffs, out
	}
	self, old, err := v.decode()
	if err != nil {
		return []string{err.Error()}, different
	}
	if p.up.compiled[0].UsesOldSelf && old == nil && !c.Rules[0].Optional {
		return nil, same
	}
	d, err := p.ours.document(v)
	if err != nil {
		return []string{"ours: " + err.Error()}, different
	}
	defer d.doc.Release()
	cost := p.up.evaluate(0, self, old).Cost
	if cost < 2 || cost >= rule.PerCallLimit {
		return nil, same
	}
	for _, limit := range []uint64{cost - 1, cost, cost + 1, cost / 2} {
		p.verdicts(self, old, d, limit, celconfig.RuntimeCELCostBudget, func(o outcome, diff string) {
			if o == different {
				diffs = append(diffs, diff)
			}
			out = max(out, o)
		})
	}
	return diffs, out
}

// decode returns both values as Go values.
func (v Values) decode() (self, old any, err error) {
	if self, err = decode(v.Self); err != nil {
		return nil, nil, err
	}
	old, err = decode(v.Old)
	return self, old, err
}
