package tests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/proto"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestRulesMeanTheSameWhenStored: a rule of the corpus that compiles as a new rule also compiles as a stored one, to
// the same expression with the same types and references. Registration relies on this and compiles once.
func TestRulesMeanTheSameWhenStored(t *testing.T) {
	c := sampledCorpus(t)
	fresh, err := celenv.ForMinor(celenv.NewMinor)
	if err != nil {
		t.Fatal(err)
	}
	seen, rules := map[string]bool{}, 0
	for _, crd := range c.CRDs {
		if !strings.Contains(string(crd.Doc), "x-kubernetes-validations") {
			continue
		}
		decoded := &apiextensionsv1.CustomResourceDefinition{}
		if err := json.UnmarshalCaseSensitivePreserveInts(crd.Doc, decoded); err != nil {
			t.Fatal(err)
		}
		for i := range decoded.Spec.Versions {
			s := schema.Of(&decoded.Spec.Versions[i])
			schema.Any(s, func(p *schema.Props) bool {
				for k := range p.XValidations {
					x := &p.XValidations[k]
					key := fmt.Sprint(x.Rule, p.Type, slices.Sorted(maps.Keys(p.Properties)))
					if seen[key] {
						continue
					}
					seen[key] = true
					scope, other := celcheck.NewShared().Field(p), celcheck.NewShared().Field(p) // separate caches
					if scope.Decl == nil {
						continue
					}
					optional := x.OptionalOldSelf != nil && *x.OptionalOldSelf
					a, bad := scope.CompileRule(t.Context(), fresh, x.Rule, optional)
					if bad != nil || a == nil {
						continue
					}
					b, bad := other.CompileRule(t.Context(), celenv.Stored(), x.Rule, optional)
					if bad != nil || b.UsesOldSelf != a.UsesOldSelf {
						t.Errorf("%s %s: %q: %v", crd.Module, crd.Name, x.Rule, bad)
						continue
					}
					if one, two := spelled(t, a.Ast), spelled(t, b.Ast); one != two {
						t.Errorf("%s %s: %q means something else when it is stored", crd.Module, crd.Name, x.Rule)
					}
					rules++
				}
				return false
			})
		}
	}
	if rules < testenv.Portion(250) {
		t.Errorf("%d rules", rules)
	}
}

// spelled returns everything that the parser and the checker derived from an expression.
func spelled(t *testing.T, a *cel.Ast) string {
	t.Helper()
	checked, err := cel.AstToCheckedExpr(a)
	if err != nil {
		t.Fatal(err)
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(checked)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
