package celcheck

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// props reads a schema written as YAML.
func props(t testing.TB, text string) *schema.Props {
	t.Helper()
	s := &schema.Props{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShared: results are shared between equal types, and between environments where they agree.
func TestShared(t *testing.T) {
	s := props(t, `
type: object
properties:
  a: {type: object, properties: {x: {type: string, maxLength: 5}}}
  b: {type: object, properties: {x: {type: string, maxLength: 9}}}
  c: {type: object, properties: {x: {type: integer}}}
`)
	sh := NewShared()
	root, again := sh.Root(s), sh.Root(s)
	compile := func(scope *Scope, e *celenv.Env, text string) *Checked {
		c, _ := scope.CompileRule(t.Context(), e, text, false)
		return c
	}
	fresh, err := celenv.ForMinor(celenv.NewMinor)
	if err != nil {
		t.Fatal(err)
	}
	const plain, listed, bad = "self.x == self.x", "[self.x].includes(self.x)", "self.x > 'a' + 1"
	first := compile(root.Property("a"), fresh, plain)
	if first == nil || compile(root.Property("b"), fresh, plain) != first || compile(again.Property("a"), celenv.Stored(), plain) != first {
		t.Error("an expression was compiled again where it means the same")
	}
	if c := compile(root.Property("c"), fresh, plain); c == nil || c == first {
		t.Error("an expression over another type is another")
	}
	if compile(root.Property("a"), fresh, listed) != nil || compile(root.Property("a"), celenv.Stored(), listed) == nil {
		t.Error("includes came with 1.37")
	}
	sorted := "[self.x].isSorted()"
	if a, b := compile(root.Property("a"), fresh, sorted), compile(root.Property("a"), celenv.Stored(), sorted); a == nil || b == nil || a == b {
		t.Error("environments do not agree about a function of a library by which they differ")
	}
	for range 2 {
		if c, e := root.Property("a").CompileRule(t.Context(), fresh, bad, false); c != nil || e == nil {
			t.Errorf("%v %v", c, e)
		}
	}
	if c, e := root.Property("a").CompileMessage(t.Context(), fresh, plain, false); c != nil || e == nil {
		t.Error("a message that is no string, but holds as a rule")
	}
	x := apiextensionsv1.ValidationRule{Rule: plain}
	a, b := root.Property("a").Check(t.Context(), fresh, fresh, &x), root.Property("b").Check(t.Context(), fresh, fresh, &x)
	if a.Rule != b.Rule || a.MaxCost >= b.MaxCost {
		t.Errorf("one expression, but longer strings cost more: %d and %d", a.MaxCost, b.MaxCost)
	}
}

// TestSharedLongRules: the result of a rule that is compiled in the background is kept.
func TestSharedLongRules(t *testing.T) {
	root := NewShared().Root(props(t, `{type: object, properties: {m: {type: object, additionalProperties: {type: string}}}}`))
	x := apiextensionsv1.ValidationRule{Rule: strings.Repeat("self.m['k'] == 'x' || ", 250) + "true"}
	f := root.Check(t.Context(), celenv.Stored(), celenv.Stored(), &x)
	if f.Rule == nil || !IsLong(x.Rule) {
		t.Fatal(f.Error)
	}
	if c, _ := root.CompileRule(t.Context(), celenv.Stored(), x.Rule, false); c != f.Rule {
		t.Error("compiled again")
	}
}

// TestCheckEndsWithContext: a long rule is abandoned when the context ends, and not kept.
func TestCheckEndsWithContext(t *testing.T) {
	root := NewShared().Root(props(t, `{type: object, properties: {m: {type: object, additionalProperties: {type: string}}}}`))
	x := apiextensionsv1.ValidationRule{Rule: strings.Repeat("self.m['k'] == 'x' || ", 2000) + "true"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := root.Check(ctx, celenv.Stored(), celenv.Stored(), &x); f.Rule != nil || f.Error != nil {
		t.Error("the check did not end with its context")
	}
	if len(root.Shared.checked) > 0 {
		t.Error("kept")
	}
}

// TestCanPlan: expressions that the checker accepts and planning rejects have the error of planning.
func TestCanPlan(t *testing.T) {
	root := NewShared().Root(props(t, `{type: object, properties: {s: {type: string}}}`))
	oldest, err := celenv.ForMinor(format.OldestMinor)
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		"self.s.matches('[a]')": true, "self.s.matches(string('['))": false, "self.s.find('[') == ''": false,
		"self.s.findAll('[').size() == 0": false, "int('x') == 1": false, "int(self.s) == 1": true,
		"self.s in ['a', 'b']": true, "type(self.s) == string": true,
	} {
		for _, e := range []*celenv.Env{celenv.Stored(), oldest} {
			c, bad := root.CompileRule(t.Context(), e, text, false)
			if c == nil {
				t.Errorf("%s in 1.%d: %v", text, e.Minor, bad)
			} else if _, failure := e.Plan(c.Ast); (failure == nil) != ok || (bad == nil) != ok {
				t.Errorf("%s in 1.%d: %v, planning: %v", text, e.Minor, bad, failure)
			}
		}
	}
}
