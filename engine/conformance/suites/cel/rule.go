package cel

import (
	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// maxDepth is the maximum depth of nested calls.
const maxDepth = 6

// makeRule returns a rule with the n-th target.
func makeRule(r generate.Rand, decl *apiservercel.DeclType, n int) Rule {
	rule := Rule{Optional: r.Chance(12)}
	g := &generator{r: r, transition: r.Chance(15) || rule.Optional, budget: r.Between(6, 40)}
	s := newScope(decl, rule.Optional)
	switch chance := r.IntN(100); {
	case chance < 15:
		rule.rule = g.containers(s)
	case chance < 30:
		rule.rule = g.rare(s)
	}
	if rule.rule == nil {
		rule.rule = g.around(s, n, r.Between(2, maxDepth))
	}
	switch {
	case r.Chance(5):
		rule.rule = g.flawed(s, rule.rule)
	case r.Chance(25): // a false condition, to test its message
		rule.rule = joined(false, "!($)", rule.rule)
	}
	if r.Chance(20) {
		g.budget = 20
		rule.message = g.message(s)
	}
	if r.Chance(15) {
		rule.Message = generate.Pick(r, []string{"no", " spaced ", "two\nlines", "é"})
	}
	if r.Chance(10) {
		rule.FieldPath = generate.Pick(r, []string{".n", ".s", ".l", ".m['a']", "['a-b']", ".m.a", ".nosuch", "n", ".", "[0]", ".metadata.name", "['a.b']"})
	}
	if r.Chance(10) {
		rule.Reason = generate.Pick(r, []string{"FieldValueRequired", "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "other"})
	}
	return rule
}

// message returns a text, in half of the cases from a value of any type.
func (g *generator) message(s *scope) *expression {
	switch g.r.IntN(6) {
	case 0:
		return g.typed(s, types.StringType, 4)
	case 1:
		return infix(text("'got ' "), "+", call("string", g.typed(s, generate.Pick(g.r, simple[:9]), 3)))
	case 2:
		return text(generate.Pick(g.r, []string{"''", "'  '", "'a\\nb'", "' a '", "1", "'x'.nosuch()", "'é'"}))
	}
	return method(text(generate.Pick(g.r, []string{"'%s'", "'got %s.'", "'%s %s'"})), "format", g.formatArguments(s, 4))
}
