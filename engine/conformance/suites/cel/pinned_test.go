package cel

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/upstreamtests"
	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/testenv"
)

// rows reads a source's tables. Compiling them takes some seconds.
func rows(t *testing.T, s upstreamtests.Source, names ...string) []upstreamtests.Row {
	t.Helper()
	all, err := upstreamtests.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	var found []upstreamtests.Row
	for _, r := range all {
		if wanted[r.Table] || len(names) == 0 {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		t.Fatal("no rows")
	}
	return found
}

// caseOf returns a case of a row's schema and a rule.
func caseOf(t *testing.T, schema json.RawMessage, text_ string) *Case {
	t.Helper()
	n, err := jsontree.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	return &Case{Schema: n, Rules: []Rule{{rule: text(text_)}}}
}

// rulesOf removes the rules at the root of a row's schema and returns them.
func rulesOf(t *testing.T, schema json.RawMessage) *Case {
	t.Helper()
	n, err := jsontree.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	c := &Case{Schema: n}
	if list := n.Get("x-kubernetes-validations"); list != nil {
		var rules []apiextensionsv1.ValidationRule
		if err := json.Unmarshal(list.JSON(), &rules); err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			c.Rules = append(c.Rules, ruleOf(&r))
		}
		n.Delete("x-kubernetes-validations")
	}
	return c
}

func ruleOf(r *apiextensionsv1.ValidationRule) Rule {
	out := Rule{rule: text(r.Rule), Message: r.Message, FieldPath: r.FieldPath, Optional: r.OptionalOldSelf != nil && *r.OptionalOldSelf}
	if r.MessageExpression != "" {
		out.message = text(r.MessageExpression)
	}
	if r.Reason != nil {
		out.Reason = string(*r.Reason)
	}
	return out
}

func valuesOf(t *testing.T, self, old json.RawMessage) Values {
	t.Helper()
	var v Values
	var err error
	if v.Self, err = jsontree.Parse(self); err != nil {
		t.Fatal(err)
	}
	if len(old) > 0 && string(old) != "null" {
		if v.Old, err = jsontree.Parse(old); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// TestPinnedCosts compares the run-time costs in upstream's test of their stability with ours, in cel-go and as a
// closure.
func TestPinnedCosts(t *testing.T) {
	checked, closed := 0, 0
	for _, row := range rows(t, upstreamtests.Rules, "TestCelCostStability") {
		for _, text := range sortedKeys(row.Costs) {
			pinned := row.Costs[text]
			c := caseOf(t, row.Schema, text)
			c.Root = true // as in upstream's test
			p, diffs, _ := pair(c, &Counts{})
			if p == nil {
				t.Errorf("%s: %s: %v", row.Name, text, diffs)
				continue
			}
			v := valuesOf(t, row.Obj, nil)
			d, err := p.ours.document(v)
			if err != nil {
				t.Fatal(err)
			}
			for _, closures := range []bool{false, true} {
				got := p.ours.judge(d, rule.PerCallLimit, celconfig.RuntimeCELCostBudget, closures)
				if cost := celconfig.RuntimeCELCostBudget - got.Left; uint64(cost) != pinned {
					t.Errorf("%s: %s (closures %v): cost %d, pinned is %d; %v", row.Name, text, closures, cost, pinned, got.Violations)
				}
			}
			checked++
			if p.ours.closures[0] != nil {
				if out, cost := p.ours.closure(0, d, rule.PerCallLimit); out != closure.Unknown {
					closed++
					if cost != pinned {
						t.Errorf("%s: %s: the closure's cost is %d, pinned is %d", row.Name, text, cost, pinned)
					}
				} else {
					t.Logf("%s: %s: not answered by its closure", row.Name, text)
				}
			} else {
				t.Logf("%s: %s: %s", row.Name, text, p.ours.missing[0])
			}
			if diffs, out := p.value(v, &Counts{}); out == different {
				t.Errorf("%s: %s: %v", row.Name, text, diffs)
			}
			d.doc.Release()
		}
	}
	t.Logf("%d expressions, %d answered by closures", checked, closed)
	if checked < 320 {
		t.Errorf("only %d expressions: the table was not read whole", checked)
	}
}

// TestPinnedEstimates does the same for estimated costs.
func TestPinnedEstimates(t *testing.T) {
	checked := 0
	for _, row := range rows(t, upstreamtests.Rules, "TestCelEstimatedCostStability") {
		for _, text := range sortedKeys(row.Costs) {
			o, err := newOurs(caseOf(t, row.Schema, text))
			if err != nil {
				t.Fatal(err)
			}
			for _, env := range []*celenv.Env{newExpressions, celenv.Stored()} {
				if f := o.facts(env)[0]; f.Cost != row.Costs[text] {
					t.Errorf("%s: %s: estimate %d, pinned is %d; %s", row.Name, text, f.Cost, row.Costs[text], f.Error)
				}
			}
			checked++
		}
	}
	for _, row := range rows(t, upstreamtests.Rules, "TestCostEstimation") {
		o, err := newOurs(rulesOf(t, row.Schema))
		if err != nil {
			t.Fatal(err)
		}
		f := o.facts(newExpressions)
		if len(f) != 1 || f[0].Error != "" || row.Max > 0 && f[0].Cost != row.Max || f[0].Cost < row.Min {
			t.Errorf("%s: %+v, pinned is %d or more than %d", row.Name, f, row.Max, row.Min)
		}
		checked++
	}
	t.Logf("%d expressions", checked)
	if checked < 430 {
		t.Errorf("only %d expressions: the tables were not read whole", checked)
	}
}

// TestExpressionTables compiles and runs the expressions of upstream's tests of compilation and validation on both
// sides, and compares the results with each other and with the tables.
func TestExpressionTables(t *testing.T) {
	var n Counts
	for i, row := range rows(t, upstreamtests.Rules, "TestCelCompilation") {
		if !testenv.Sampled(i) {
			continue
		}
		c := rulesOf(t, row.Schema)
		if _, diffs, out := pair(c, &n); out == different {
			t.Errorf("%s: %v", row.Name, diffs)
		}
	}
	for i, row := range rows(t, upstreamtests.Rules, "TestValidationExpressions") {
		if !testenv.Sampled(i) {
			continue
		}
		v := valuesOf(t, row.Obj, row.Old)
		try := func(text string, root bool) {
			c := caseOf(t, row.Schema, text)
			c.Root = root
			p, diffs, out := pair(c, &n)
			if p == nil {
				if out == different {
					t.Errorf("%s: %s: %v", row.Name, text, diffs)
				}
				return
			}
			if diffs, out := p.value(v, &n); out == different {
				t.Errorf("%s: %s: %v", row.Name, text, diffs)
			}
			if diffs, out := limits(c, v); out == different {
				t.Errorf("%s: %s: %v", row.Name, text, diffs)
			}
		}
		for _, text := range row.Rules {
			try(text, row.Root)
		}
		for _, text := range sortedKeys(row.Errors) {
			try(text, true)
		}
	}
	t.Log(n.Detail())
	if n.Rules < testenv.Portion(400) {
		t.Errorf("only %d rules: the tables were not read whole", n.Rules)
	}
}
