package celcheck

import (
	"context"
	"math"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// Bounds on the estimated cost of the rules of a CRD, in CEL cost units.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go)
const (
	// EstimateLimit bounds one rule or message expression, times how often it may run for one object.
	EstimateLimit = 10_000_000
	// EstimateLimitTotal bounds the sum for the schema of one version.
	EstimateLimitTotal = 100_000_000
)

// Result is what checking one rule yields. (schema/cel/compilation.go, CompilationResult)
type Result struct {
	// Error is why the rule cannot run, nil if it can. MessageError is the same for its messageExpression, which is
	// checked only if the rule can run. The texts are upstream's.
	Error, MessageError *apiservercel.Error
	// UsesOldSelf marks a transition rule. It is also set for some rules with errors.
	UsesOldSelf bool
	// MaxCost and MessageMaxCost are the highest costs of the rule and of the message expression for one value. Both are 0
	// if the expression cannot run.
	MaxCost, MessageMaxCost uint64
	// Cardinality is how often the rule may run for one object if no list or map around it is bounded.
	Cardinality uint64
	// Rule and Message are the compiled expressions, nil if absent or invalid.
	Rule, Message *Checked
}

// Check compiles a rule in e and its message expression in messageEnv, and estimates their costs. A blank rule has an
// empty Result. If the context ends, the Result is undefined and ctx.Err is set. The scope must have a Decl.
//
// Upstream: schema/cel/compilation.go, compileRule.
func (s *Scope) Check(
	ctx context.Context, e, messageEnv *celenv.Env, r *apiextensionsv1.ValidationRule,
) (result Result) {
	if strings.TrimSpace(r.Rule) == "" {
		return result
	}
	optional := r.OptionalOldSelf != nil && *r.OptionalOldSelf
	c, err := s.CompileRule(ctx, e, r.Rule, optional)
	if c != nil {
		result.UsesOldSelf = c.UsesOldSelf
	}
	if result.Error = err; err != nil || ctx.Err() != nil {
		return result
	}
	cost, failure := s.estimateIfLong(ctx, e, c, r.Rule)
	if failure != nil {
		result.Error = internal("cost estimation failed: " + failure.Error())
		return result
	}
	result.Rule, result.MaxCost, result.Cardinality = c, cost, maxCardinality(s.Decl.MinSerializedSize)
	if r.MessageExpression == "" {
		return result
	}
	if c, result.MessageError = s.CompileMessage(ctx, messageEnv, r.MessageExpression, optional); c == nil ||
		result.MessageError != nil {
		return result
	}
	if cost, failure = s.estimateIfLong(ctx, messageEnv, c, r.MessageExpression); failure != nil {
		result.MessageError = internal("cost estimation failed for messageExpression: " + failure.Error())
		return result
	}
	result.Message, result.MessageMaxCost = c, cost
	return result
}

// estimateIfLong estimates the cost of an expression for values of the declared sizes.
func (s *Scope) estimateIfLong(ctx context.Context, e *celenv.Env, c *Checked, text string) (uint64, error) {
	type estimated struct {
		cost uint64
		err  error
	}
	result, _ := runIfLong(ctx, s, text, func(s *Scope) (r estimated) {
		of := &sizes{self: s.Decl}
		if s.forValues {
			of.values = c.Ast.NativeRep()
		}
		r.cost, r.err = estimateCost(e, c, of)
		return r
	})
	return result.cost, result.err
}

// MultiplyCost multiplies costs and cardinalities. It returns math.MaxUint64 on overflow.
func MultiplyCost(cost, cardinality uint64) uint64 {
	if cost != 0 && cardinality > math.MaxUint64/cost {
		return math.MaxUint64
	}
	return cost * cardinality
}

// AddCost adds costs. It returns math.MaxUint64 on overflow.
func AddCost(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// maxCardinality returns how many values of a size a request can hold, with a comma between any two of them.
// (schema/cel/compilation.go)
func maxCardinality(minSerializedSize int64) uint64 {
	return uint64(celconfig.MaxRequestSizeBytes / (minSerializedSize + 1))
}
