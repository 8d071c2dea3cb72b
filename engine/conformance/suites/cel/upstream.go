package cel

import (
	"context"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	upstreamcel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// structural converts a schema and adds rules at its root.
func structural(s *apiextensionsv1.JSONSchemaProps, rules []apiextensionsv1.ValidationRule) (*structuralschema.Structural, error) {
	with := s.DeepCopy()
	with.XValidations = rules
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(with, internal, nil); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return structuralschema.NewStructural(internal)
}

// declare returns upstream's declaration of a schema, or nil if expressions cannot see it.
func declare(schema *jsontree.Node, root bool) (*apiservercel.DeclType, error) {
	c := Case{Schema: schema}
	props, err := c.props()
	if err != nil {
		return nil, err
	}
	s, err := structural(props, nil)
	if err != nil {
		return nil, err
	}
	return model.SchemaDeclType(s, root), nil
}

// Compiled contains the facts of a compiler about one rule.
type Compiled struct {
	Error, MessageError string
	Cost, MessageCost   uint64
	Cardinality         uint64
	UsesOldSelf         bool
}

// Verdict is the result of a validator for one value.
type Verdict struct {
	// Violations are the errors' texts, in order.
	Violations []string
	// Left is the remaining budget, or -1 if it is exceeded.
	Left int64
}

// Result is the result of one rule.
type Result struct {
	// Value is the result as text, or "" if there is an error.
	Value, Error string
	Cost         uint64
}

// crash is a panic of upstream.
type crash struct{ value any }

func (c crash) Error() string { return fmt.Sprint("panic: ", c.value) }

// upstream is the API server's rule compiler and validator.
type upstream struct {
	schema   *structuralschema.Structural
	root     bool
	compiled []upstreamcel.CompilationResult
	rules    []apiextensionsv1.ValidationRule
	judges   map[uint64]*upstreamcel.Validator // by the limit per call
}

// newUpstream compiles a case's rules as stored ones. A panic is returned as an error.
func newUpstream(c *Case) (u *upstream, err error) {
	props, err := c.props()
	if err != nil {
		return nil, err
	}
	s, err := structural(props, c.validations())
	if err != nil {
		return nil, err
	}
	u = &upstream{schema: s, root: c.resource(), judges: map[uint64]*upstreamcel.Validator{}, rules: c.validations()}
	u.compiled, err = u.compile(upstreamcel.StoredExpressionsEnvLoader())
	return u, err
}

func (u *upstream) compile(loader upstreamcel.EnvLoader) (results []upstreamcel.CompilationResult, err error) {
	defer func() {
		if e := recover(); e != nil {
			results, err = nil, crash{e}
		}
	}()
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	return upstreamcel.Compile(u.schema, model.SchemaDeclType(u.schema, u.root), celconfig.PerCallLimit, base, loader)
}

// facts returns the facts about each rule in a registration.
func facts(results []upstreamcel.CompilationResult) []Compiled {
	out := make([]Compiled, len(results))
	for i, r := range results {
		out[i] = Compiled{Cost: r.MaxCost, MessageCost: r.MessageExpressionMaxCost, Cardinality: r.MaxCardinality, UsesOldSelf: r.UsesOldSelf,
			Error: errorText(r.Error), MessageError: errorText(r.MessageExpressionError)}
	}
	return out
}

func errorText(e *apiservercel.Error) string {
	if e == nil {
		return ""
	}
	return string(e.Type) + ": " + normal(e.Detail)
}

// judge validates a value with a budget, and a limit per call.
func (u *upstream) judge(self, old any, limit uint64, budget int64) Verdict {
	v := u.judges[limit]
	if v == nil {
		v = upstreamcel.NewValidator(u.schema, u.root, limit)
		u.judges[limit] = v
	}
	errs, left := v.Validate(context.Background(), field.NewPath("root"), u.schema, self, old, budget)
	out := Verdict{Left: max(left, -1)}
	for _, e := range errs {
		out.Violations = append(out.Violations, normal(e.Error()))
	}
	return out
}

// evaluate runs the i-th rule alone.
func (u *upstream) evaluate(i int, self, old any) Result {
	value, details, err := u.compiled[i].Program.ContextEval(context.Background(), u.activation(u.rules[i].OptionalOldSelf != nil && *u.rules[i].OptionalOldSelf, self, old))
	var r Result
	if details != nil && details.ActualCost() != nil {
		r.Cost = *details.ActualCost()
	}
	if err != nil {
		r.Error = normal(err.Error())
		return r
	}
	r.Value = fmt.Sprint(value.Value())
	return r
}

// activation binds self and oldSelf.
func (u *upstream) activation(optional bool, self, old any) interpreter.Activation {
	s := u.schema
	if u.root {
		s = model.WithTypeAndObjectMeta(s)
	}
	names := map[string]any{"self": upstreamcel.UnstructuredToVal(self, s)}
	switch {
	case old != nil && optional:
		names["oldSelf"] = types.OptionalOf(upstreamcel.UnstructuredToVal(old, s))
	case old != nil:
		names["oldSelf"] = upstreamcel.UnstructuredToVal(old, s)
	case optional:
		names["oldSelf"] = types.OptionalNone
	}
	a, err := interpreter.NewActivation(names)
	if err != nil {
		panic(err) // cannot happen for a map
	}
	return a
}

// decode returns the Go values that the API server uses.
func decode(n *jsontree.Node) (any, error) {
	if n == nil {
		return nil, nil
	}
	var v any
	err := utiljson.Unmarshal(n.JSON(), &v)
	return v, err
}
