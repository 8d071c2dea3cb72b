package rule

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func signatures(f *decls.FunctionDecl) (list []string) {
	for _, o := range f.OverloadDecls() {
		list = append(list, fmt.Sprint(o.ID(), o.IsMemberFunction(), o.ArgTypes(), o.ResultType()))
	}
	return list
}

func macros(e *cel.Env) (keys []string) {
	for _, m := range e.Macros() {
		keys = append(keys, m.MacroKey())
	}
	slices.Sort(keys)
	return keys
}

func validators(e *cel.Env) (names []string) {
	for _, v := range e.Validators() {
		names = append(names, v.Name())
	}
	return names
}

// TestEnvironmentsAgree: environments that are said to differ by functions alone do, and by no others than those named.
func TestEnvironmentsAgree(t *testing.T) {
	alone := 0
	for a := OldestMinor; a <= LatestMinor; a++ {
		for b := OldestMinor; b <= LatestMinor; b++ {
			d := differences[a-OldestMinor][b-OldestMinor]()
			if a == b || !d.functionsAlone {
				continue
			}
			alone++
			x, y := environments[a-OldestMinor](), environments[b-OldestMinor]()
			if !slices.Equal(macros(x.base), macros(y.base)) || !slices.Equal(validators(x.base), validators(y.base)) || len(x.base.Variables()) != len(y.base.Variables()) ||
				x.crossTypeNumbers() != y.crossTypeNumbers() || (a >= keywordFieldsSince) != (b >= keywordFieldsSince) {
				t.Errorf("1.%d and 1.%d differ by more than functions", a, b)
			}
			names := maps.Clone(x.base.Functions())
			maps.Copy(names, y.base.Functions())
			for name := range names {
				if _, differs := d.functions[name]; differs {
					continue
				}
				f, g := x.base.Functions()[name], y.base.Functions()[name]
				if f == nil || g == nil || !slices.Equal(signatures(f), signatures(g)) {
					t.Errorf("1.%d and 1.%d differ by %s", a, b, name)
				}
			}
			if _, ok := d.functions["matches"]; ok || len(d.functions) > 10 {
				t.Errorf("1.%d and 1.%d differ by %d functions", a, b, len(d.functions))
			}
		}
	}
	if d := differences[NewMinor-OldestMinor][LatestMinor-OldestMinor](); !d.functionsAlone || alone == 0 {
		t.Error("a stock API server checks in environments that have nothing in common")
	}
}

// TestMemory: what is known of an expression serves wherever it stands over an equal type, and in environments that agree about it.
func TestMemory(t *testing.T) {
	s := props(t, `
type: object
properties:
  a: {type: object, properties: {x: {type: string, maxLength: 5}}}
  b: {type: object, properties: {x: {type: string, maxLength: 9}}}
  c: {type: object, properties: {x: {type: integer}}}
`)
	mem := NewMemory()
	root, again := mem.Root(s), mem.Root(s)
	compile := func(scope *Scope, e *Env, text string) *Checked {
		c, _ := e.CompileRule(text, scope, false)
		return c
	}
	fresh, err := ForMinor(NewMinor)
	if err != nil {
		t.Fatal(err)
	}
	const plain, listed, bad = "self.x == self.x", "[self.x].includes(self.x)", "self.x > 'a' + 1"
	first := compile(root.Property("a"), fresh, plain)
	if first == nil || compile(root.Property("b"), fresh, plain) != first || compile(again.Property("a"), Stored(), plain) != first {
		t.Error("an expression was compiled again where it means the same")
	}
	if c := compile(root.Property("c"), fresh, plain); c == nil || c == first {
		t.Error("an expression over another type is another")
	}
	if compile(root.Property("a"), fresh, listed) != nil || compile(root.Property("a"), Stored(), listed) == nil {
		t.Error("includes came with 1.37")
	}
	sorted := "[self.x].isSorted()"
	if a, b := compile(root.Property("a"), fresh, sorted), compile(root.Property("a"), Stored(), sorted); a == nil || b == nil || a == b {
		t.Error("environments do not agree about a function of a library by which they differ")
	}
	for range 2 {
		if c, e := fresh.CompileRule(bad, root.Property("a"), false); c != nil || e == nil {
			t.Errorf("%v %v", c, e)
		}
	}
	if c, e := fresh.CompileMessage(plain, root.Property("a"), false); c != nil || e == nil {
		t.Error("a message that is no string, but holds as a rule")
	}
	x := apiextensionsv1.ValidationRule{Rule: plain}
	a, b := fresh.Check(&x, root.Property("a")), fresh.Check(&x, root.Property("b"))
	if a.Rule != b.Rule || a.MaxCost >= b.MaxCost {
		t.Errorf("one expression, but longer strings cost more: %d and %d", a.MaxCost, b.MaxCost)
	}
	if set := again.Property("a").Compile([]apiextensionsv1.ValidationRule{x}); set != root.Property("b").Compile([]apiextensionsv1.ValidationRule{x}) {
		t.Error("equal rules over equal types are two sets")
	}
}

// TestMemoryOfLongRules: a rule that is compiled aside is known afterwards.
func TestMemoryOfLongRules(t *testing.T) {
	root := Root(props(t, `{type: object, properties: {m: {type: object, additionalProperties: {type: string}}}}`))
	x := apiextensionsv1.ValidationRule{Rule: termsOf(250)}
	f, ok := Stored().CheckWithin(context.Background(), &x, root)
	if !ok || f.Rule == nil || !long(x.Rule) {
		t.Fatal(f.Error)
	}
	if c, ok := Stored().compileRuleWithin(context.Background(), x.Rule, root, false); !ok || c.Checked != f.Rule {
		t.Error("compiled again")
	}
}
