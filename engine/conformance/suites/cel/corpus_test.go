package cel

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestCorpusRules: every rule of real CRDs compiles or fails as in upstream, has the same cost, and returns the same
// for generated values, in cel-go and as a closure.
func TestCorpusRules(t *testing.T) {
	c, err := corpus.Load(func(m string) { t.Log("fetching", m) })
	if err != nil {
		t.Fatal(err)
	}
	var n Counts
	texts, places, invisible := map[string]bool{}, 0, 0
	seen := map[string]bool{}
	for i := range c.CRDs {
		if !testenv.Sampled(i) {
			continue
		}
		doc, err := jsontree.Parse(c.CRDs[i].Doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range doc.At("spec", "versions").GetItems() {
			eachPlace(v.At("schema", "openAPIV3Schema"), true, func(s *jsontree.Node, root bool) {
				one := placeCase(t, s, root)
				for _, r := range one.Rules {
					texts[r.String()] = true
				}
				if key := one.String(); seen[key] {
					return
				} else {
					seen[key] = true
				}
				places++
				if decl, err := declare(one.Schema, one.resource()); err != nil || decl == nil {
					invisible++
					return
				}
				corpusPlace(t, c.CRDs[i].Name, one, places, &n)
			})
		}
	}
	t.Logf("%d rules in %d places, %d texts; expressions cannot see %d places", n.Rules, places, len(texts), invisible)
	t.Log(n.Detail())
	// About 99 % are answered. Some errors of upstream depend on the order of Go's maps, so the figure is not constant.
	if len(texts) < testenv.Portion(250) || n.Unclosed*100 > n.Rules || n.CleanAnswered*100 < n.Clean*98 {
		t.Error("too few rules, or rules of real definitions that closures do not answer")
	}
}

func corpusPlace(t *testing.T, name string, c *Case, nth int, n *Counts) {
	t.Helper()
	p, diffs, out := guardPair(c, n)
	if p == nil {
		if out == different {
			t.Errorf("%s: %s\n%v", name, c, diffs)
		}
		return
	}
	r := generate.New("corpus rules", 1, uint64(nth))
	for range 6 {
		v := makeValues(r, c.Schema)
		if !v.decodable() {
			continue
		}
		if diffs, out := guardValue(p, v, n); out == different {
			c.Self, c.Old = v.Self, v.Old
			t.Errorf("%s: %s\n%v", name, c, diffs)
			return
		}
	}
}

// eachPlace visits every schema with rules, except those below allOf, anyOf, oneOf and not.
func eachPlace(s *jsontree.Node, root bool, visit func(s *jsontree.Node, root bool)) {
	if s == nil || s.Kind != jsontree.Object {
		return
	}
	if list := s.Get("x-kubernetes-validations"); list != nil && list.Kind == jsontree.Array {
		visit(s, root)
	}
	for _, p := range s.Get("properties").GetMembers() {
		eachPlace(p.Value, false, visit)
	}
	eachPlace(s.Get("items"), false, visit)
	eachPlace(s.Get("additionalProperties"), false, visit)
}

// placeCase returns a case of a schema and its own rules, without the rules and texts below it.
func placeCase(t *testing.T, s *jsontree.Node, root bool) *Case {
	t.Helper()
	var rules []apiextensionsv1.ValidationRule
	if err := json.Unmarshal(s.Get("x-kubernetes-validations").JSON(), &rules); err != nil {
		t.Fatal(err)
	}
	c := &Case{Schema: s.Clone(), Root: root}
	c.Schema.Walk(func(n, parent *jsontree.Node, index int) {
		if n.Kind == jsontree.Object && n.Get("description") != nil && n.Get("description").Kind == jsontree.Scalar {
			n.Delete("description")
		}
		if list := n.Get("x-kubernetes-validations"); list != nil && list.Kind == jsontree.Array {
			n.Delete("x-kubernetes-validations")
		}
	})
	for i := range rules {
		c.Rules = append(c.Rules, ruleOf(&rules[i]))
	}
	return c
}
