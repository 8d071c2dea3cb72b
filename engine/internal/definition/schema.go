package definition

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// checkSchema checks the schema of a version, or the schema that all versions share. version is then the first
// version's name. status reports whether the status subresource is enabled. (validation.go,
// validateCustomResourceDefinitionValidation)
func (s *spec) checkSchema(c *apiextensionsv1.CustomResourceValidation, version string, status bool, path *field.Path) field.ErrorList {
	if c == nil || c.OpenAPIV3Schema == nil {
		return nil
	}
	p, at := c.OpenAPIV3Schema, path.Child("openAPIV3Schema")
	var root, errs field.ErrorList
	if p.Nullable {
		errs = append(errs, field.Forbidden(path.Child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"))
	}
	facts := s.shared.Survey.Of(p)
	if facts.Rules && s.grows(p) {
		return nil
	}
	rules := &ruleCheck{ctx: s.ctx, env: s.env, shared: s.shared, ratchet: s.ratchet, version: version, budget: s.budget}
	var positions schema.Rules
	if facts.Rules {
		positions = rootPosition(rules, p)
	}
	var unsupported error
	if s.structural {
		unsupported = s.shared.Survey.Unsupported(p)
	}
	switch {
	case !s.structural || unsupported != nil:
		positions = nil
	default:
		found := schema.Structural(at, p, s.budget)
		if len(found) == 0 && quirk.On(quirk.NullDefaultIgnored) && facts.Defaults {
			found = checkDefaults(s.ctx, p, at, s.budget, s.shared, s.ratchet.unprunedDefaults)
		}
		if len(found) > 0 {
			positions = nil // upstream compiles no rules for such a schema
		}
		errs = append(errs, found...)
	}
	if status && quirk.On(quirk.RestrictedRootKeywords) {
		// Its errors come first, but show the schema after the check of defaults.
		root = statusRoot(p, path)
	}
	errs = append(append(root, errs...), schema.Keywords(at, p, positions, s.budget, s.ratchet.Lenient)...)
	errs = append(errs, rules.errs...)
	if unsupported != nil && len(errs) == 0 {
		// Report it only if the keyword checks report no error, which would have a better text.
		errs = append(errs, field.Invalid(at, "", unsupported.Error()))
	}
	if len(rules.rules) > 0 {
		s.rules[p] = &Rules{List: rules.rules, Cost: rules.total, Env: s.env}
	}
	return append(errs, rules.totalOverBudget(at)...)
}

// rootKeywords are the Go names of the keywords that the root of a schema may have if the status subresource is
// enabled.
var rootKeywords = []string{
	"Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum", "MaxLength", "MinLength",
	"Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example",
	"XPreserveUnknownFields", "XValidations",
}

// statusRoot checks the root keywords of a schema with the status subresource. As in upstream, it checks them in the
// order of the Go type and reports the first error only.
func statusRoot(s *schema.Props, path *field.Path) field.ErrorList {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch {
		case v.Field(i).IsZero() || name == "Type" && s.Type == "object":
		case name == "Type":
			return field.ErrorList{field.Invalid(path.Child("openAPIV3Schema.type"), s.Type,
				`only "object" is allowed as the type at the root of the schema if the status subresource is enabled`)}
		case !slices.Contains(rootKeywords, name):
			return field.ErrorList{field.Invalid(path.Child("openAPIV3Schema"), *schema.PrintSchema(s),
				fmt.Sprintf("only %v fields are allowed at the root of the schema if the status subresource is enabled",
					rootKeywords))}
		}
	}
	return nil
}

// grows fails the budget if macro expansion makes a rule of the schema too large, and reports whether it did.
func (s *spec) grows(p *schema.Props) bool {
	return schema.AnySorted(p, func(p *schema.Props) bool {
		for i := range p.XValidations {
			for _, text := range [...]string{p.XValidations[i].Rule, p.XValidations[i].MessageExpression} {
				if limit := new(tree.LimitError); errors.As(celcheck.CheckExpansion(text), &limit) {
					s.budget.Fail(limit)
					return true
				}
			}
		}
		return false
	})
}
