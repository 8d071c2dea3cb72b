package definition

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Rules are the rules in the schema of one version.
type Rules struct {
	// List has the rules in the order of the checks: rules of nested schemas come first. It omits rules of schemas with
	// other errors.
	List []Rule
	// Cost is the total estimated cost of all expressions for one object, in CEL cost units.
	Cost uint64
	// Env is the environment of new rules.
	Env *celenv.Env
}

// Rule is one checked rule.
type Rule struct {
	// Path is the path from the root to the schema of the rule, by keywords and property names. Index is the index in
	// its x-kubernetes-validations.
	Path  []string
	Index int
	// Props is the schema of the rule.
	Props *schema.Props
	// Env and MessageEnv are the environments of the rule and of its messageExpression.
	Env, MessageEnv *celenv.Env
	// Scope has the types of the rule's variables. Facts is the result of compiling the rule.
	Scope *celcheck.Scope
	Facts celcheck.Result
	// Cardinality is the maximum number of evaluations for one object. Cost is for all of them.
	Cardinality       uint64
	Cost, MessageCost uint64
	// Around are the schemas of the enclosing lists and maps, outermost first.
	Around []celcheck.Container
}

// ruleCheck compiles the rules of one schema and adds up their estimated costs.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/{validation,cel_validation}.go)
type ruleCheck struct {
	ctx     context.Context
	env     *celenv.Env
	shared  *celcheck.Shared
	ratchet *ratchet
	// version is the name of the version with the schema.
	version string
	budget  *violation.Budget
	errs    field.ErrorList
	rules   []Rule
	total   uint64
	costly  []costed // expressions of at least a hundredth of the limit
}

type costed struct {
	path *field.Path
	cost uint64
}

// named is the number of costliest expressions to report if their total exceeds the limit.
const named = 4

// rulesOf returns the rules of spec.versions[i], or nil.
func (s *spec) rulesOf(i int) *Rules {
	if s.validation != nil {
		return s.rules[s.validation.OpenAPIV3Schema]
	}
	if i < len(s.versions) {
		return s.rules[schema.Of(&s.versions[i])]
	}
	return nil
}

// observe adds the cost of an expression to the total.
func (c *ruleCheck) observe(path *field.Path, cost uint64) {
	c.total = celcheck.AddCost(c.total, cost)
	if cost >= celcheck.EstimateLimitTotal/100 {
		c.costly = append(c.costly, costed{path, cost})
	}
}

// totalOverBudget returns errors if the total cost exceeds its limit. path is that of the schema.
func (c *ruleCheck) totalOverBudget(path *field.Path) field.ErrorList {
	if c.total <= celcheck.EstimateLimitTotal {
		return nil
	}
	var errs field.ErrorList
	slices.SortStableFunc(c.costly, func(a, b costed) int { return cmp.Compare(b.cost, a.cost) })
	for _, d := range c.costly[:min(named, len(c.costly))] {
		errs = append(errs, field.Forbidden(d.path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	return append(errs, field.Forbidden(path, overBudget("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", c.total, celcheck.EstimateLimitTotal)))
}

// overBudget returns the error text for a cost over its limit. (validation.go, getCostErrorMessage)
func overBudget(what string, cost, limit uint64) string {
	times := float64(cost) / float64(limit)
	factor := fmt.Sprintf("%.1fx", times)
	switch {
	case !quirk.On(quirk.CostliestRulesNamed):
	case times > 100:
		factor = "more than 100x"
	case times < 1.5:
		factor = fmt.Sprintf("%fx", times)
	}
	return what + " exceeds budget by factor of " + factor + " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
}

// printRule converts a rule to the form that field errors show.
var printRule = apiextensionsv1.Convert_v1_ValidationRule_To_apiextensions_ValidationRule

// compile checks the rules of a schema. path is that of the schema.
func (c *ruleCheck) compile(p *position, path, uncorrelatable *field.Path) {
	at := path.Child("x-kubernetes-validations")
	add := func(e *field.Error) {
		c.errs = append(c.errs, e)
		c.budget.Take(violation.Size(e), false)
	}
	scope, err := p.scope()
	switch {
	case (err != nil || scope.Decl == nil) && !quirk.On(quirk.PreservedDataInvisible):
		return
	case err != nil:
		add(field.InternalError(at, fmt.Errorf("internal error: failed to construct type information for x-kubernetes-validations rules: %w", err)))
		return
	case scope.Decl == nil:
		add(field.InternalError(at, errNoDeclaration))
		return
	}
	for i := range p.props.XValidations {
		if c.ctx.Err() != nil || c.budget.Err() != nil {
			return // check for each rule, because one rule can be as slow as hundreds of schemas
		}
		r, at := &p.props.XValidations[i], at.Index(i)
		env, messageEnv := c.ratchet.envs(c.env, r)
		f := scope.Check(c.ctx, env, messageEnv, r)
		if c.ctx.Err() != nil {
			return
		}
		cardinality := f.Cardinality
		if p.bounded {
			cardinality = p.cardinality
		}
		cost := celcheck.MultiplyCost(f.MaxCost, cardinality)
		// As in upstream, the cost of the message is not multiplied by the cardinality.
		c.rules = append(c.rules, Rule{
			Path: p.path(), Index: i, Props: p.props, Env: env, MessageEnv: messageEnv, Scope: scope, Facts: f,
			Cardinality: cardinality, Cost: cost, MessageCost: f.MessageMaxCost, Around: p.around(),
		})
		if cost > celcheck.EstimateLimit && !c.ratchet.sameSchema(c.version) {
			add(field.Forbidden(at.Child("rule"), overBudget("estimated rule cost", cost, celcheck.EstimateLimit)))
		}
		c.observe(at.Child("rule"), cost)
		if f.Error != nil {
			add(field.Invalid(at.Child("rule"), *schema.Print(r, printRule), f.Error.Detail))
		}
		switch {
		case f.MessageError != nil:
			add(field.Invalid(at.Child("messageExpression"), *schema.Print(r, printRule), f.MessageError.Detail))
		case f.Message != nil:
			if f.MessageMaxCost > celcheck.EstimateLimit && !c.ratchet.sameSchema(c.version) {
				add(field.Forbidden(at.Child("messageExpression"), overBudget("estimated messageExpression cost", f.MessageMaxCost, celcheck.EstimateLimit)))
			}
			c.observe(at.Child("messageExpression"), f.MessageMaxCost)
		}
		switch {
		case f.UsesOldSelf && uncorrelatable != nil:
			add(field.Invalid(at.Child("rule"), r.Rule, "oldSelf cannot be used on the uncorrelatable portion of the schema within "+uncorrelatable.String()))
		case !f.UsesOldSelf && r.OptionalOldSelf != nil:
			add(field.Invalid(at.Child("optionalOldSelf"), *r.OptionalOldSelf, "may not be set if oldSelf is not used in rule"))
		}
	}
}
