package cel

import (
	"strings"
	"testing"
)

func TestSameSeedSameCases(t *testing.T) {
	for n := range uint64(30) {
		a, b := Make(7, n), Make(7, n)
		if a.Schema.String() != b.Schema.String() {
			t.Fatalf("group %d: schemas differ:\n%s\n%s", n, a.Schema, b.Schema)
		}
		for i := range a.Rules {
			if a.Rules[i].String() != b.Rules[i].String() {
				t.Fatalf("group %d: rules differ:\n%s\n%s", n, a.Rules[i], b.Rules[i])
			}
		}
		for i := range a.Values {
			if a.Values[i].Self.String() != b.Values[i].Self.String() {
				t.Fatalf("group %d: values differ", n)
			}
		}
	}
}

// TestExpressionsAreOfUse: most generated expressions compile, and do not fail.
func TestExpressionsAreOfUse(t *testing.T) {
	var rules, compiled, values, clean, costly int
	for n := range uint64(150) {
		g := Make(1, n)
		for _, r := range g.Rules {
			rules++
			u, err := newUpstream(&Case{Schema: g.Schema, Root: g.Root, Rules: []Rule{r}})
			if err != nil || u.compiled[0].Error != nil {
				continue
			}
			compiled++
			for _, v := range g.Values {
				self, err := decode(v.Self)
				if err != nil {
					t.Fatal(err)
				}
				old, err := decode(v.Old)
				if err != nil {
					t.Fatal(err)
				}
				if u.compiled[0].UsesOldSelf && old == nil && !r.Optional {
					continue
				}
				values++
				if got := u.evaluate(0, self, old); got.Error == "" {
					clean++
					if got.Cost > 20 {
						costly++
					}
				}
			}
		}
	}
	t.Logf("%d rules, %d compile; %d evaluations, %d without error, %d of these cost more than 20", rules, compiled, values, clean, costly)
	if compiled*100 < rules*80 || clean*100 < values*45 || costly*100 < clean*10 {
		t.Error("too few are of use")
	}
}

// TestAllOverloadsAreDrawn: a run of some thousand cases uses every function.
func TestAllOverloadsAreDrawn(t *testing.T) {
	var all strings.Builder
	for n := range uint64(4*targets/rulesPerGroup + 1) {
		for _, r := range Make(3, n).Rules {
			all.WriteString(r.rule.String())
			all.WriteByte('\n')
		}
	}
	for _, name := range functionNames {
		if operators[name] == "" && !strings.Contains(all.String(), name+"(") {
			t.Errorf("%s was never called", name)
		}
	}
	for _, m := range macros {
		if name, _, _ := strings.Cut(m.name, "/"); !strings.Contains(name, "?") && !strings.Contains(all.String(), name+"(") {
			t.Errorf("macro %s was never used", m.name)
		}
	}
}
