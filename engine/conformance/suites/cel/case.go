package cel

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// Case is a schema with rules at its root, and a value for them.
type Case struct {
	// Schema has no rules of its own.
	Schema *jsontree.Node
	// Root is true if the schema is the root of a resource.
	Root  bool
	Rules []Rule
	// Self is the new value. Old is the old value, or nil on creation.
	Self, Old *jsontree.Node
}

// Rule is an entry of x-kubernetes-validations.
type Rule struct {
	rule, message *expression
	Optional      bool
	Reason        string
	// Message and FieldPath are as in the manifest.
	Message, FieldPath string
}

func (r Rule) String() string {
	s := r.rule.String()
	if r.message != nil {
		s += "\n    message: " + r.message.String()
	}
	if r.Optional {
		s += "\n    optionalOldSelf"
	}
	if r.Reason+r.Message+r.FieldPath != "" {
		s += fmt.Sprintf("\n    reason %q, message %q, fieldPath %q", r.Reason, r.Message, r.FieldPath)
	}
	return s
}

// String prints a case.
func (c *Case) String() string {
	s := fmt.Sprintf("schema (root %v): %s\n  self: %s\n", c.Root, c.Schema, c.Self)
	if c.Old != nil {
		s += fmt.Sprintf("  old: %s\n", c.Old)
	}
	for _, r := range c.Rules {
		s += "  rule: " + r.String() + "\n"
	}
	return s
}

// validations returns the rules as in a manifest.
func (c *Case) validations() []apiextensionsv1.ValidationRule {
	rules := make([]apiextensionsv1.ValidationRule, len(c.Rules))
	for i, r := range c.Rules {
		rules[i].Rule, rules[i].Message, rules[i].FieldPath = r.rule.String(), r.Message, r.FieldPath
		if r.message != nil {
			rules[i].MessageExpression = r.message.String()
		}
		if r.Optional {
			rules[i].OptionalOldSelf = &r.Optional
		}
		if r.Reason != "" {
			reason := apiextensionsv1.FieldValueErrorReason(r.Reason)
			rules[i].Reason = &reason
		}
	}
	return rules
}

// resource reports whether apiVersion, kind and metadata are declared: at a root, or in an embedded resource.
func (c *Case) resource() bool {
	return c.Root || c.Schema.Get("x-kubernetes-embedded-resource").IsTrue()
}

// props decodes the schema.
func (c *Case) props() (*apiextensionsv1.JSONSchemaProps, error) {
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(c.Schema.JSON(), s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

// Group is a schema with expressions and values. Each expression runs on each value.
type Group struct {
	Schema *jsontree.Node
	Root   bool
	Rules  []Rule
	Values []Values
}

// Values are a new value and optionally an old one.
type Values struct{ Self, Old *jsontree.Node }

// The product of rulesPerGroup and valuesPerGroup is the number of cases in a group.
const rulesPerGroup, valuesPerGroup = 4, 4

// Make returns the n-th group.
func Make(seed, n uint64) Group {
	r := generate.New("cel", seed, n)
	for {
		g := Group{Schema: rootSchema(r)}
		g.Root = r.Chance(40)
		if t, _ := g.Schema.Get("type").Text(); t != "object" || g.Schema.Get("properties") == nil {
			g.Root = false
		}
		decl, err := declare(g.Schema, (&Case{Schema: g.Schema, Root: g.Root}).resource())
		if err != nil || decl == nil {
			continue // a path that expressions cannot use
		}
		for i := range uint64(rulesPerGroup) {
			g.Rules = append(g.Rules, makeRule(r, decl, int(n*rulesPerGroup+i)))
		}
		for len(g.Values) < valuesPerGroup {
			if v := makeValues(r, g.Schema); v.decodable() {
				g.Values = append(g.Values, v)
			}
		}
		return g
	}
}

// decodable reports whether the values are JSON and the new one is not null. Otherwise there is nothing to evaluate.
func (v Values) decodable() bool {
	self, err := decode(v.Self)
	if err != nil || self == nil {
		return false
	}
	_, err = decode(v.Old)
	return err == nil
}

func makeValues(r generate.Rand, schema *jsontree.Node) Values {
	v := Values{Self: anyValue(r, schema)}
	switch r.IntN(4) {
	case 0:
		v.Old = v.Self.Clone()
		generate.Break(r, schema, v.Old, 1)
	case 1:
		v.Old = anyValue(r, schema)
	}
	return v
}

// anyValue returns a value: a valid one, one with defects, or rarely one of another kind.
func anyValue(r generate.Rand, schema *jsontree.Node) *jsontree.Node {
	if r.Chance(65) {
		schema = full(schema)
	}
	v := generate.Value(r, schema, 5)
	if v.Kind == jsontree.Scalar {
		return v
	}
	if r.Chance(20) {
		generate.Break(r, schema, v, r.Between(1, 2))
	}
	if r.Chance(2) {
		inflate(r, v, generate.Pick(r, []int{20, 50, 300, 1500}))
	}
	return v
}

// inflate makes lists and texts long, to test costs that grow with sizes and the limits.
func inflate(r generate.Rand, v *jsontree.Node, n int) {
	budget := 4000
	v.Walk(func(at, _ *jsontree.Node, _ int) {
		if budget <= 0 || !r.Chance(60) {
			return
		}
		if at.Kind == jsontree.Array && len(at.Items) > 0 && len(at.Items) < 10 {
			items := at.Items
			for len(at.Items) < n && budget > 0 {
				e := generate.Pick(r, items).Clone()
				if e.Kind == jsontree.Scalar && r.Chance(70) { // distinct elements
					e = varied(e, len(at.Items))
				}
				at.Items = append(at.Items, e)
				budget -= e.Size()
			}
		} else if text, ok := at.Text(); ok && len(text) > 0 {
			*at = *jsontree.Str(strings.Repeat(text, 1+n/len(text)))
			budget -= n
		}
	})
}

// varied returns another scalar of the same kind.
func varied(e *jsontree.Node, n int) *jsontree.Node {
	if text, ok := e.Text(); ok {
		return jsontree.Str(text + strconv.Itoa(n))
	}
	if _, err := strconv.ParseInt(e.Raw, 10, 64); err == nil {
		return jsontree.Int(int64(n))
	}
	return e
}

// full returns a schema whose values have everything that expressions can use: every property, an element in every
// list, the key a in every map.
func full(schema *jsontree.Node) *jsontree.Node {
	s := schema.Clone()
	s.Walk(func(n, _ *jsontree.Node, _ int) {
		if props := n.Get("properties"); props != nil && n.Get("type") != nil && props.Kind == jsontree.Object {
			required := jsontree.Arr()
			for _, p := range props.Members {
				required.Items = append(required.Items, jsontree.Str(p.Key))
			}
			n.Set("required", required)
		}
		if extra := n.Get("additionalProperties"); extra != nil && n.Get("type") != nil {
			n.Set("required", jsontree.Arr(jsontree.Str("a")))
		}
		if items := n.Get("items"); items != nil && n.Get("type") != nil {
			n.Set("minItems", jsontree.Int(1))
		}
	})
	return s
}
