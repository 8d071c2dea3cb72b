package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestKnownCosts: rules whose costs are remembered by what they read have the same result and cost as rules that are
// evaluated. Values are also of other kinds than the schema has, for objects that were not accepted.
func TestKnownCosts(t *testing.T) {
	testenv.SingleGoroutine(t)
	var rules strings.Builder
	for _, list := range [][]string{
		{`has(self.a) && self.t == 'x' || has(self.b) && self.t != 'x'`, `!has(self.o) || has(self.o.t) == has(self.o.a)`, `self.t in ['x', 'xé', 'yy', ''] ? !has(self.f) || self.f : true`},
		{`!has(self.l) || self.l.filter(e, e.t == 'x').size() <= 1`, `!has(self.l) || self.l.exists_one(e, has(e.a) && e.t == 'yy') || size(self.l) != 2`, `(has(self.l) && size(self.l) > 1 ? self.l[1].q.size() : 0) + (has(self.l) && self.l.size() > 0 ? self.l[0].q.size() : 0) < 4`},
		{`!has(self.o) || !has(self.o.o) || self.o.o.t == 'x' || has(self.o.o.a) || (has(self.o.o.b) ? self.o.o.b == true : !has(self.o.o.f))`, `!has(self.o) || has(self.o.o) || has(self.o.t) || has(self.o.a) || has(self.o.b)`},
		{`self.l.all(e, self.l.exists(d, d.t == 'x' || e.t == 'x' || has(d.a) != has(e.b))) || has(self.a) && has(self.b)`, `has(self.o.o.t) || has(self.o.o.a) || has(self.o.t) || has(self.a) && has(self.b) && has(self.t)`},
		{`has(self.l) && self.l.all(e, has(e.q) ? e.q.all(k, k == 'x' || k == 'yy') : has(e.t) && e.t in ['', 'x']) || !has(self.l) || size(self.l) > 2`, `!has(self.m) || has(self.a) || has(self.b) || has(self.t) || has(self.f)`},
		{`!has(self.m) || has(self.a) && has(self.b) && has(self.t) || 'k' in self.m || self.m.size() > 1 || has(self.o) && has(self.o.a) && has(self.f)`},
	} {
		rules.WriteString("\n  - {type: object, x-kubernetes-validations: [")
		for _, r := range list {
			fmt.Fprintf(&rules, "{rule: %q}, ", r)
		}
		rules.WriteString("], properties: *p}")
	}
	const scalars = `a: {type: integer}, b: {type: boolean}, f: {type: boolean}, t: {type: string}, m: {type: object, additionalProperties: {type: string}}, q: {type: array, items: {type: string}}`
	inner := `{type: object, properties: {` + scalars + `}}`
	properties := `{` + scalars + `, l: {type: array, items: ` + inner + `}, o: {type: object, properties: {` + scalars + `, o: ` + inner + `}}}`
	for i, entry := range strings.Split(strings.TrimPrefix(rules.String(), "\n  - "), "\n  - ") {
		p := ruled(t, `{type: object, properties: {spec: `+strings.Replace(entry, "*p", properties, 1)+`}}`)
		random := rand.New(rand.NewPCG(uint64(i), 1))
		hold := 0
		for range 4000 {
			text := `{"spec":` + member(random, 0) + `}`
			d := tree.Acquire()
			root := parsed(t, d, text, tree.Request)
			p.FillSlots(d, root)
			clean := func(limit uint64) (bool, int64) {
				r := rule.Start(d)
				defer r.Close()
				r.Limit = limit
				return p.CleanRules(r, root, 0, nil), r.Left
			}
			holds, left := clean(rule.PerCallLimit)
			if want, rest := clean(rule.PerCallLimit - 1); holds != want || left != rest {
				t.Fatalf("%s: %s: known: %v with %d left, evaluated: %v with %d left", entry, text, holds, left, want, rest)
			}
			if holds {
				hold++
			}
			d.Release()
		}
		if hold < 100 {
			t.Errorf("%s: only %d of the values hold", entry, hold)
		}
	}
}

// member returns a random value for the schema of TestKnownCosts.
func member(random *rand.Rand, depth int) string {
	if random.IntN(40) == 0 {
		return []string{`null`, `[]`, `{}`, `"x"`, `1`, `true`, `["x"]`, `{"t":"x"}`}[random.IntN(8)]
	}
	list := func(of func() string, most int) string {
		items := make([]string, random.IntN(most))
		for i := range items {
			items[i] = of()
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	text := func() string {
		return []string{`"x"`, `"xé"`, `"yy"`, `""`, `"\u0078"`, `"` + strings.Repeat("é", 14+random.IntN(4)) + `"`, `"` + strings.Repeat("z", 29+random.IntN(5)) + `"`}[random.IntN(7)]
	}
	var members []string
	add := func(name, value string) {
		if random.IntN(6) > 0 {
			members = append(members, fmt.Sprintf("%q:%s", name, value))
		}
	}
	add("a", []string{"1", "2", "null"}[random.IntN(3)])
	add("b", []string{"true", "false"}[random.IntN(2)])
	add("f", []string{"true", "false", "null"}[random.IntN(3)])
	add("t", text())
	add("q", list(text, 3))
	add("m", []string{`{}`, `{"k":"x"}`, `{"j":"x"}`, `{"j":"x","k":"y"}`}[random.IntN(4)])
	if depth < 2 {
		most := 4
		if random.IntN(50) == 0 {
			most = 40
		}
		add("l", list(func() string { return member(random, 2) }, most))
		add("o", member(random, depth+1))
	}
	return "{" + strings.Join(members, ",") + "}"
}
