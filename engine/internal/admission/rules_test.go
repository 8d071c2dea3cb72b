package admission

import (
	"context"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// defineRuled compiles the gadgets with a rule for the spec, one for the root and one for each tag.
func defineRuled(t *testing.T) *Definition {
	t.Helper()
	var crd *apiextensionsv1.CustomResourceDefinition
	d := define(t, func(c *apiextensionsv1.CustomResourceDefinition) {
		crd = c
		s := c.Spec.Versions[0].Schema.OpenAPIV3Schema
		s.XValidations = apiextensionsv1.ValidationRules{{Rule: "self.metadata.name != 'bad'", Message: "bad name"}}
		spec := s.Properties["spec"]
		spec.XValidations = apiextensionsv1.ValidationRules{{Rule: "self.must < 9", Message: "too much"}, {Rule: "self.must >= oldSelf.must", Message: "less"}}
		s.Properties["spec"] = spec
	})
	compiled, err := plan.Compile(schema.Of(&crd.Spec.Versions[0]), plan.Options{StatusSubresource: true, Rules: plan.RulesOfResource})
	if err != nil {
		t.Fatal(err)
	}
	d.Versions[0].Plan = compiled
	return d
}

func TestRules(t *testing.T) {
	d := defineRuled(t)
	const resource = plain + `,"resourceVersion":"1"`
	for name, c := range map[string]struct {
		object, old string
		status      bool
		want        outcome
	}{
		"all are true": {object: gadget(plain, `,"spec":{"must":1}`)},
		"of a default": {object: gadget(plain, ``), want: outcome{}},
		"one is false": {object: gadget(plain, `,"spec":{"must":9}`), want: outcome{rejection: "Invalid", violations: []string{"RULES spec: Invalid value: too much"}}},
		"the root's":   {object: gadget(`"name":"bad","namespace":"n"`, ``), want: outcome{rejection: "Invalid", violations: []string{"RULES <nil>: Invalid value: bad name"}}},
		"blocked": {object: gadget(plain, `,"spec":{"must":"x"}`), want: outcome{rejection: "Invalid", violations: []string{
			`SCHEMA spec.must: Invalid value: "string": spec.must in body must be of type integer: "string"`,
			"RULES_SKIPPED <nil>: Invalid value: null: " + NotChecked}}},
		"not blocked by duplicates": {object: gadget(plain, `,"spec":{"must":9,"tags":["a","a"]}`), want: outcome{rejection: "Invalid", violations: []string{
			`LIST spec.tags[1]: Duplicate value: "a"`, "RULES spec: Invalid value: too much"}}},
		"of another kind": {object: `{"apiVersion":"example.com/v1","kind":"Other","metadata":{` + plain + `},"spec":{"must":9}}`, want: outcome{rejection: "Invalid", violations: []string{
			`TYPE_META kind: Invalid value: "Other": must be Gadget`, "RULES spec: Invalid value: too much"}}},
		"an update":                    {object: gadget(resource, `,"spec":{"must":1}`), old: gadget(resource, `,"spec":{"must":2}`), want: outcome{rejection: "Invalid", violations: []string{"RULES spec: Invalid value: less"}}},
		"ratcheted":                    {object: gadget(resource, `,"spec":{"must":9}`), old: gadget(resource, `,"spec":{"must":9}`), want: outcome{warnings: []string{"spec: Invalid value: too much"}}},
		"ratcheted to a status update": {object: gadget(resource, `,"spec":{"must":1}`), old: gadget(resource, `,"spec":{"must":9}`), status: true, want: outcome{warnings: []string{"spec: Invalid value: too much"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var first Outcome
			for i, r := range []Request{{}, {NoClosures: true}, {Exact: true}} {
				r.Version, r.Body, r.Status = "v1", []byte(c.object), c.status
				if c.old != "" {
					r.Old = []byte(c.old)
				}
				out, err := d.Write(context.Background(), &r)
				if err != nil {
					t.Fatal(err)
				}
				expect(t, &out, c.want)
				if i == 0 {
					first = out
				}
				if c.old == "" && i == 0 && out.Rejection == nil && out.Explained {
					t.Error("the fast path was not enough")
				}
				if len(out.Ratcheted) != len(first.Ratcheted) || !reflect.DeepEqual(out.Warnings, first.Warnings) {
					t.Errorf("ratcheted %v on one path and %v on another", first.Ratcheted, out.Ratcheted)
				}
			}
		})
	}
}
