package rule

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/rules"
)

const tracedSchema = `
type: object
properties:
  i: {type: integer}
  s: {type: string}
  l: {type: array, items: {type: object, properties: {name: {type: string}, v: {type: integer}}}}
  m: {type: object, additionalProperties: {type: integer}}
x-kubernetes-validations: `

// describe formats a trace: outcome, cost, message, and steps; the decisive ones with a star.
func describe(t rules.Trace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s cost %d", t.Outcome, t.Skipped, t.Cost)
	if t.Message != "" {
		fmt.Fprintf(&b, " says %s", t.Message)
	}
	for _, s := range t.Steps {
		mark := ""
		if s.Decisive {
			mark = "*"
		}
		fmt.Fprintf(&b, "\n%s%d %s = %s%s", mark, s.Offset, s.Expression, s.Value, s.Error)
	}
	if t.OmittedSteps > 0 {
		fmt.Fprintf(&b, "\n%d more", t.OmittedSteps)
	}
	return b.String()
}

func tracesOf(t *testing.T, rules, self, old string, how rules.TraceMode, prepare func(*Run)) (list []rules.Trace, run *Run) {
	t.Helper()
	s := props(t, tracedSchema+rules)
	set := compile(t, celcheck.NewShared().Field(s), s.XValidations)
	d := tree.Acquire()
	t.Cleanup(d.Release)
	r := Start(d)
	t.Cleanup(r.Close)
	r.Trace = how
	site := Site{Position: testPosition{at: field.NewPath("spec")}}
	site.Self = parse(t, d, self, tree.Request)
	if old != "" {
		site.Old = parse(t, d, old, tree.Old)
	}
	if prepare != nil {
		prepare(r)
	}
	set.Evaluate(r, site)
	list, _ = r.Traces()
	return list, r
}

func TestTrace(t *testing.T) {
	for _, c := range []struct{ name, rule, self, want string }{
		{"and", "self.i > 0 && self.s == 'a'", `{"i":1,"s":"b"}`, `2  cost 6 says failed rule: self.i > 0 && self.s == 'a'
0 self.i = 1
0 self.i > 0 = true
14 self.s = "b"
*14 self.s == 'a' = false
*0 self.i > 0 && self.s == 'a' = false`},
		{"or", "self.i > 5 || has(self.s)", `{"i":1,"s":"b"}`, `1  cost 4
0 self.i = 1
0 self.i > 5 = false
*14 has(self.s) = true
*0 self.i > 5 || has(self.s) = true`},
		{"all", "self.l.all(e, e.v < 3)", `{"l":[{"v":1},{"v":5},{"v":2}]}`, `2  cost 17 says failed rule: self.l.all(e, e.v < 3)
0 self.l = [{"v":1},{"v":5},{"v":2}]
14 e.v = 1
14 e.v < 3 = true
14 e.v = 5
*14 e.v < 3 = false
*0 self.l.all(e, e.v < 3) = false`},
		{"exists", "self.l.exists(e, e.name == 'x' && e.v > 1)", `{"l":[{"name":"x","v":1},{"name":"x","v":5}]}`, `1  cost 23
0 self.l = [{"name":"x","v":1},{"name":"x","v":5}]
17 e.name = "x"
17 e.name == 'x' = true
34 e.v = 1
34 e.v > 1 = false
17 e.name == 'x' && e.v > 1 = false
17 e.name = "x"
17 e.name == 'x' = true
34 e.v = 5
34 e.v > 1 = true
*17 e.name == 'x' && e.v > 1 = true
*0 self.l.exists(e, e.name == 'x' && e.v > 1) = true`},
		{"error", "self.l[3].v == 1", `{"l":[]}`, `3  cost 4 says index out of bounds: 3 evaluating rule: self.l[3].v == 1
0 self.l = []
0 self.l[3] = index out of bounds: 3
0 self.l[3].v = index out of bounds: 3
*0 self.l[3].v == 1 = index out of bounds: 3`},
		{"ternary", "size(self.s) > 1 ? self.i == 1 : self.i == 2", `{"i":1,"s":"ab"}`, `1  cost 7
5 self.s = "ab"
0 size(self.s) = 2
*0 size(self.s) > 1 = true
19 self.i = 1
*19 self.i == 1 = true
*0 size(self.s) > 1 ? self.i == 1 : self.i == 2 = true`},
		{"optional", "self.?m['a'].orValue(3) == 3", `{}`, `1  cost 2
0 self.?m['a'] = "optional.none()"
0 self.?m['a'].orValue(3) = 3
*0 self.?m['a'].orValue(3) == 3 = true`},
		{"list", "self.l.map(e, e.v) == [1, 2] && 'k' in self.m", `{"l":[{"v":1},{"v":2}],"m":{"k":1}}`, `1  cost 35
0 self.l = [{"v":1},{"v":2}]
14 e.v = 1
14 e.v = 2
0 self.l.map(e, e.v) = [1,2]
22 [1, 2] = [1,2]
0 self.l.map(e, e.v) == [1, 2] = true
39 self.m = {"k":1}
32 'k' in self.m = true
*0 self.l.map(e, e.v) == [1, 2] && 'k' in self.m = true`},
		{"parentheses", "(self.i == 1 || self.i == 2) && (has(self.s) && ( self.s.startsWith(')') ))", `{"i":1,"s":"b"}`, `2  cost 7 says failed rule: (self.i == 1 || self.i == 2) && (has(self.s) && ( self.s.startsWith(')') ))
1 self.i = 1
1 self.i == 1 = true
1 self.i == 1 || self.i == 2 = true
33 has(self.s) = true
50 self.s = "b"
*50 self.s.startsWith(')') = false
*33 has(self.s) && ( self.s.startsWith(')') ) = false
*0 (self.i == 1 || self.i == 2) && (has(self.s) && ( self.s.startsWith(')') )) = false`},
		{"texts", "self.s == r'a\\d' || self.s.matches(\"^'b\") || self.i in [1, 2, -3] && {'a': 1}['a'] == 1 || -self.i > 3", `{"i":1,"s":"b"}`, `1  cost 11
0 self.s = "b"
0 self.s == r'a\d' = false
20 self.s = "b"
20 self.s.matches("^'b") = false
0 self.s == r'a\d' || self.s.matches("^'b") = false
45 self.i = 1
45 self.i in [1, 2, -3] = true
69 {'a': 1} = {"a":1}
69 {'a': 1}['a'] = 1
69 {'a': 1}['a'] == 1 = true
*45 self.i in [1, 2, -3] && {'a': 1}['a'] == 1 = true
*45 self.i in [1, 2, -3] && {'a': 1}['a'] == 1 || -self.i > 3 = true
*0 self.s == r'a\d' || self.s.matches("^'b") || self.i in [1, 2, -3] && {'a': 1}['a'] == 1 || -self.i > 3 = true`},
		{"filter", "self.l.filter(e, e.v > 1).size() == 1 && self.l.exists_one(e, e.v == 1) && cidr('10.0.0.0/8').containsIP('10.1.1.1')", `{"l":[{"v":1},{"v":2}]}`, `1  cost 39
0 self.l = [{"v":1},{"v":2}]
17 e.v = 1
17 e.v > 1 = false
17 e.v = 2
17 e.v > 1 = true
14 e = {"v":2}
0 self.l.filter(e, e.v > 1) = [{"v":2}]
0 self.l.filter(e, e.v > 1).size() = 1
0 self.l.filter(e, e.v > 1).size() == 1 = true
41 self.l = [{"v":1},{"v":2}]
62 e.v = 1
62 e.v == 1 = true
62 e.v = 2
62 e.v == 1 = false
41 self.l.exists_one(e, e.v == 1) = true
0 self.l.filter(e, e.v > 1).size() == 1 && self.l.exists_one(e, e.v == 1) = true
75 cidr('10.0.0.0/8') = "10.0.0.0/8"
75 cidr('10.0.0.0/8').containsIP('10.1.1.1') = true
*0 self.l.filter(e, e.v > 1).size() == 1 && self.l.exists_one(e, e.v == 1) && cidr('10.0.0.0/8').containsIP('10.1.1.1') = true`},
		{"not", "!(self.i == 1)", `{"i":1}`, `2  cost 4 says failed rule: !(self.i == 1)
2 self.i = 1
*2 self.i == 1 = true
*0 !(self.i == 1) = false`},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, r := tracesOf(t, fmt.Sprintf(`[{rule: %q}]`, c.rule), c.self, "", rules.TraceAll, nil)
			if len(list) != 1 {
				t.Fatalf("%d traces", len(list))
			}
			if got := describe(list[0]); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.rule, got, c.want)
			}
			if charged := CostBudget - r.Left; charged != list[0].Cost {
				t.Errorf("charged %d, the trace says %d", charged, list[0].Cost)
			}
		})
	}
}

// TestTraceOutcomes: what becomes of rules, and why they are skipped.
func TestTraceOutcomes(t *testing.T) {
	const four = `[{rule: "self.i == 1"}, {rule: "self.i == oldSelf.i"}, {rule: "self.nothing == 1"}, {rule: "self.i == 2", message: two}]`
	for _, c := range []struct {
		name, list, self, old string
		how                   rules.TraceMode
		prepare               func(*Run)
		want                  string
	}{
		{"all", four, `{"i":1}`, "", rules.TraceAll, nil, "1 ; 4 the rule compares with an old value, which is missing; 3 ; 2 "},
		{"failed", four, `{"i":1}`, "", rules.TraceFailed, nil, "3 ; 2 "},
		{"none", four, `{"i":1}`, "", rules.TraceNone, nil, ""},
		{"null", four, `null`, "", rules.TraceAll, nil, strings.TrimSuffix(strings.Repeat("4 the value is null, which rules treat as absent; ", 4), "; ")},
		{"blocked", four, `{"i":1}`, "", rules.TraceAll, func(r *Run) { r.Skip = "blocked" }, "4 blocked; 4 blocked; 4 blocked; 4 blocked"},
		{"limit", `[{rule: "self.i == 1"}, {rule: "self.i == 2"}]`, `{"i":1}`, "", rules.TraceAll, func(r *Run) { r.Limit = 1 },
			"3 ; 4 a rule before it cost more than 1, which ends the evaluation of rules"},
		{"budget", `[{rule: "self.i == 1"}, {rule: "self.i == 2"}]`, `{"i":1}`, "", rules.TraceAll, func(r *Run) { r.Left = 1 },
			"3 ; 4 the rules before it used up the 10000000 that all rules of an object may cost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, _ := tracesOf(t, c.list, c.self, c.old, c.how, c.prepare)
			var got []string
			for _, one := range list {
				got = append(got, fmt.Sprintf("%d %s", one.Outcome, one.Skipped))
				if one.Rule == nil || one.SchemaPointer != fmt.Sprintf("/x-kubernetes-validations/%d", one.Rule.Index) {
					t.Errorf("%+v", one)
				}
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// TestTraceIsBounded: steps, values and traces.
func TestTraceIsBounded(t *testing.T) {
	long := `{"s":"` + strings.Repeat("x", 2000) + `","l":[` + strings.TrimSuffix(strings.Repeat(`{"v":1},`, 2000), ",") + `]}`
	list, _ := tracesOf(t, `[{rule: "self.s == '' || self.l.all(e, e.v == 1) && self.l[1999].v == 2"}]`, long, "", rules.TraceFailed, nil)
	if len(list) != 1 || len(list[0].Steps) != rules.MaxSteps || list[0].OmittedSteps != 4010-rules.MaxSteps {
		t.Fatalf("%d traces, %d steps, %d omitted", len(list), len(list[0].Steps), list[0].OmittedSteps)
	}
	first, last := list[0].Steps[0], list[0].Steps[rules.MaxSteps-1]
	if first.Expression != "self.s" || first.Value != nil || last.Expression != list[0].Rule.Text || string(last.Value) != "false" || !last.Decisive {
		t.Errorf("%+v\n%+v", first, last)
	}
}
