package tests

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/rules"
)

// expensive contains schemas with one rule on spec that is too expensive, and the bounds that cause it.
var expensive = map[string]struct {
	schema string
	want   []string
}{
	"a list": {ruled("self.l.all(x, self.l.all(y, x == y))"), []string{"l maxItems", "l/items maxLength"}},
	"a list of numbers": {`
type: object
properties: {n: {type: array, items: {type: integer}}}
x-kubernetes-validations: [{rule: "self.n.all(x, self.n.all(y, x == y))"}]`, []string{"n maxItems"}},
	"a bounded list": {`
type: object
properties: {n: {type: array, maxItems: 100000, items: {type: integer}}}
x-kubernetes-validations: [{rule: "self.n.all(x, self.n.all(y, x == y))"}]`, []string{"n maxItems"}},
	"a map": {`
type: object
properties: {m: {type: object, additionalProperties: {type: array, items: {type: integer}}}}
x-kubernetes-validations: [{rule: "self.m.all(k, self.m[k].all(x, x > 1))"}]`, []string{"m maxProperties", "m/additionalProperties maxItems"}},
	"strings": {`
type: object
properties: {s: {type: string}, t: {type: string}, u: {type: string, maxLength: 5}}
x-kubernetes-validations: [{rule: "self.s.matches(self.t + self.u)"}]`, []string{"s maxLength", "t maxLength"}},
	"int or string": {`
type: object
properties: {x: {x-kubernetes-int-or-string: true}, l: {type: array, items: {x-kubernetes-int-or-string: true}}}
x-kubernetes-validations: [{rule: "self.l.all(y, string(self.x).contains(string(y)))"}]`, []string{"l maxItems", "l/items maxLength", "x maxLength"}},
	"bytes": {`
type: object
properties: {b: {type: string, format: byte}, l: {type: array, items: {type: string, format: byte}}}
x-kubernetes-validations: [{rule: "self.l.all(y, self.b == y)"}]`, []string{"l maxItems", "b maxLength"}},
	"around": {`
type: array
items:
  type: object
  additionalProperties:
    type: object
    properties: {s: {type: string}}
    x-kubernetes-validations: [{rule: "self.s.contains('a')"}]`, []string{" maxItems", "items maxProperties", "items/additionalProperties/s maxLength"}},
	"around, self alone suffices": {`
type: array
items:
  type: object
  properties: {s: {type: string}}
  x-kubernetes-validations: [{rule: "self.s.contains('a')"}]`, nil},
	"a message": {`
type: object
properties: {l: {type: array, items: {type: string}}}
x-kubernetes-validations: [{rule: "true", messageExpression: "self.l.all(x, self.l.all(y, x == y)) ? 'a' : 'b'"}]`, []string{"l maxItems", "l/items maxLength"}},
	"names that need escapes": {`
type: object
properties: {"a/b~c": {type: array, items: {type: object, properties: {namespace: {type: string}}}}}
x-kubernetes-validations: [{rule: "self.a__slash__b~c"}, {rule: "self.a__slash__b.all(x, true)"}]`, nil},
	"a name with a dash": {`
type: object
properties: {"a-b": {type: array, items: {type: array, items: {type: string}}}}
x-kubernetes-validations: [{rule: "self.a__dash__b.all(x, x.all(y, y != ''))"}]`, nil},
}

func checked(t *testing.T, doc []byte) *engine.Report {
	t.Helper()
	r, err := engine.Check(context.Background(), engine.JSON(doc), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// amended returns a CRD with one keyword set in the schema of its first version, at a pointer.
func amended(t *testing.T, doc []byte, pointer, keyword string, value int64) []byte {
	t.Helper()
	var crd map[string]any
	if err := json.Unmarshal(doc, &crd); err != nil {
		t.Fatal(err)
	}
	node := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"]
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if list, ok := node.([]any); ok {
			i, _ := strconv.Atoi(step)
			node = list[i]
		} else {
			node = node.(map[string]any)[step]
		}
	}
	node.(map[string]any)[keyword] = value
	out, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tooExpensive reports whether upstream rejects a rule or its message as too expensive. pointer is that of the rule.
func tooExpensive(t *testing.T, doc []byte, pointer string) bool {
	t.Helper()
	_, theirs := oracle.Register(doc, false)
	for _, f := range theirs.Errors {
		if strings.Contains(f.Detail, "exceeds budget") && fieldPointer(f.Field) == pointer {
			return true
		}
	}
	return false
}

// fieldPointer converts a field path below openAPIV3Schema that ends in rule or messageExpression to the pointer of the
// rule. Names with dots and brackets do not occur here.
func fieldPointer(field string) string {
	_, rest, _ := strings.Cut(field, "openAPIV3Schema")
	rest = strings.NewReplacer("[", "/", "]", "", ".", "/").Replace(rest)
	return strings.TrimSuffix(strings.TrimSuffix(rest, "/rule"), "/messageExpression")
}

// suggestionsFit applies all suggestions for a rule, and then increases each of them by one.
func suggestionsFit(t *testing.T, doc []byte, r *rules.Report) {
	t.Helper()
	if len(r.Culprits) == 0 {
		t.Errorf("%s: nothing is to blame", r.SchemaPointer)
		return
	}
	fits := doc
	for _, c := range r.Culprits {
		if c.Suggested <= 0 {
			t.Errorf("%s: no value of %s %s", r.SchemaPointer, c.SchemaPointer, c.Keyword)
			return
		}
		fits = amended(t, fits, c.SchemaPointer, c.Keyword, c.Suggested)
	}
	if tooExpensive(t, fits, r.SchemaPointer) {
		t.Errorf("%s: too expensive with %+v", r.SchemaPointer, r.Culprits)
	}
	for _, c := range r.Culprits {
		if !tooExpensive(t, amended(t, fits, c.SchemaPointer, c.Keyword, c.Suggested+1), r.SchemaPointer) {
			t.Errorf("%s: fits with one more of %s %s than %+v", r.SchemaPointer, c.SchemaPointer, c.Keyword, r.Culprits)
		}
	}
}

func TestSuggestedBounds(t *testing.T) {
	for name, tt := range expensive {
		t.Run(name, func(t *testing.T) {
			doc := manifest(t, atSpec(tt.schema))
			for _, rule := range checked(t, doc).Versions[0].Rules {
				if rule.ShareOfLimit <= 1 {
					continue
				}
				t.Logf("%s: %d = %d times, %.1f of the limit, %+v", rule.Text, rule.EstimatedCost, rule.Cardinality, rule.ShareOfLimit, rule.Culprits)
				suggestionsFit(t, doc, &rule)
				var got []string
				for _, c := range rule.Culprits {
					got = append(got, strings.Replace(strings.TrimPrefix(strings.TrimPrefix(c.SchemaPointer, "/properties/spec"), "/"), "properties/", "", 1)+" "+c.Keyword)
				}
				if tt.want != nil && !sameStrings(got, tt.want) {
					t.Errorf("%q are to blame, want %q", got, tt.want)
				}
			}
		})
	}
}

func sameStrings(a, b []string) bool {
	seen := map[string]int{}
	for _, s := range a {
		seen[s]++
	}
	for _, s := range b {
		seen[s]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestSuggestedBoundsOfTheCorpus(t *testing.T) {
	c := sampledCorpus(t)
	n := 0
	for _, crd := range c.CRDs {
		if !strings.Contains(string(crd.Doc), "x-kubernetes-validations") {
			continue
		}
		r := checked(t, crd.Doc)
		if len(r.Versions) != 1 || r.Accepted {
			continue
		}
		v := &r.Versions[0]
		t.Logf("%s: %d of %d", crd.Path, v.EstimatedCost, v.CostLimit)
		fits := crd.Doc
		least := map[[2]string]int64{}
		for _, rule := range v.Rules {
			if v.EstimatedCost <= v.CostLimit && rule.ShareOfLimit > 1 {
				n++
				suggestionsFit(t, crd.Doc, &rule)
			}
			for _, c := range rule.Culprits {
				at := [2]string{c.SchemaPointer, c.Keyword}
				if known, ok := least[at]; c.Suggested > 0 && (!ok || c.Suggested < known) {
					least[at] = c.Suggested
				}
			}
		}
		for at, value := range least {
			fits = amended(t, fits, at[0], at[1], value)
		}
		if r := checked(t, fits); !r.Accepted {
			t.Errorf("%s is rejected even with %v: %d of %d, %s", crd.Path, least, r.Versions[0].EstimatedCost, r.Versions[0].CostLimit, r.Rejection.Message)
		}
		if _, theirs := oracle.Register(fits, false); !theirs.Accepted() {
			t.Errorf("%s is rejected by upstream even with %v", crd.Path, least)
		}
	}
	t.Logf("%d rules", n)
}

// TestNoSuggestion: rules that no bound can fix have causes without a suggestion.
func TestNoSuggestion(t *testing.T) {
	rules := checked(t, manifest(t, atSpec(`
type: object
properties: {l: {type: array, items: {type: string}}}
x-kubernetes-validations: [{rule: "true", messageExpression: "self.l.map(x, self.l.map(y, y + x).join('')).join('')"}]`))).Versions[0].Rules
	if len(rules) != 1 || len(rules[0].Culprits) != 1 || rules[0].Culprits[0].Suggested != 0 {
		t.Errorf("%+v", rules)
	}
}
