package solve

import (
	"math"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// The distances of parts of a rule.
const (
	failing   = 1.0 // has the wrong value
	erroneous = 1.5 // has an error instead of a value; more for an error in its parts
	absent    = 1.2 // no element of a list
)

// distance says how far a boolean expression is from a value: 0 if it has it, else the number of its parts that have
// the wrong value. Comparisons of values that are close to each other count less than 1.
func (s *run) distance(e ast.Expr, v *env, want bool) float64 {
	if !s.enter() {
		return failing
	}
	defer s.leave()
	now := s.eval(e, v)
	if now == types.Bool(want) {
		return 0
	}
	base := failing
	if types.IsUnknownOrError(now) {
		base = erroneous + s.depthOfError(e, v)
	}
	switch e.Kind() {
	case ast.CallKind:
		name, list := args(e)
		switch name {
		case operators.LogicalNot:
			return s.distance(list[0], v, !want)
		case operators.LogicalAnd, operators.LogicalOr:
			a, b := s.distance(list[0], v, want), s.distance(list[1], v, want)
			if (name == operators.LogicalAnd) == want {
				return a + b
			}
			return min(a, b)
		case operators.Conditional:
			here, there := list[1], list[2]
			if s.eval(list[0], v) != types.True {
				here, there = there, here
			}
			flip := s.distance(list[0], v, s.eval(list[0], v) != types.True)
			return min(s.distance(here, v, want), flip+s.distance(there, v, want))
		case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater,
			operators.GreaterEquals, "isGreaterThan", "isLessThan":
			if base == failing && len(list) == 2 {
				return apart(s.eval(list[0], v), s.eval(list[1], v))
			}
		}
	case ast.ComprehensionKind:
		return s.foldDistance(foldOf(e), v, want, base)
	}
	return base
}

// depthOfError returns a number below 0.5, which is larger for an error deeper in an expression.
func (s *run) depthOfError(e ast.Expr, v *env) float64 {
	if e.Kind() != ast.CallKind || !s.enter() {
		return 0
	}
	defer s.leave()
	_, list := args(e)
	for _, arg := range list {
		if types.IsUnknownOrError(s.eval(arg, v)) {
			return 0.25 + s.depthOfError(arg, v)/2
		}
	}
	return 0
}

// mostNested bounds the elements of a macro in a macro whose distances count.
const mostNested = 8

// foldDistance is distance for a macro.
func (s *run) foldDistance(f *fold, v *env, want bool, base float64) float64 {
	if f.kind == foldBind {
		return s.distance(f.yield, s.bound(f, v), want)
	}
	if f.kind == foldOther || f.kind == foldList {
		return base
	}
	if s.folds++; s.folds > 1 && size(s.eval(f.IterRange(), v)) > mostNested {
		s.folds--
		return base
	}
	defer func() { s.folds-- }()
	inside := s.iterations(f, v)
	all := (f.kind == foldAll) == want && f.kind != foldOne
	if len(inside) == 0 && !all {
		return max(base, absent)
	}
	sum, least, holding := 0.0, math.MaxFloat64, 0
	for _, in := range inside {
		d := s.distance(f.pred, in, want)
		if sum, least = sum+d, min(least, d); d == 0 {
			holding++
		}
	}
	switch {
	case f.kind == foldOne && want && holding > 1:
		return float64(holding - 1)
	case f.kind == foldOne && !want:
		return failing
	case all: // at most 2, so that the elements of a long list do not outweigh other parts
		return 2 * sum / (1 + sum)
	}
	return least
}

// apart says in a number below 1 how different two values are.
func apart(a, b ref.Val) float64 {
	if x, ok := a.(types.String); ok {
		if y, ok := b.(types.String); ok {
			common := 0
			for common < min(len(x), len(y)) && x[common] == y[common] {
				common++
			}
			return 0.9 - 0.4*float64(common)/float64(max(len(x), len(y), 1))
		}
	}
	x, y := amount(a), amount(b)
	d := math.Abs(x - y)
	if math.IsNaN(d) {
		return 0.95
	}
	return 0.5 + 0.4*d/(1+d)
}

// amount returns a value as a number, NaN for values without order.
func amount(v ref.Val) float64 {
	switch v := v.(type) {
	case types.Int:
		return float64(v)
	case types.Uint:
		return float64(v)
	case types.Double:
		return float64(v)
	case types.Duration:
		return v.Seconds()
	case types.Timestamp:
		return float64(v.Unix())
	case apiservercel.Quantity:
		return v.AsApproximateFloat64()
	case apiservercel.Semver:
		return float64(v.Major)*1e6 + float64(v.Minor)*1e3 + float64(v.Patch)
	}
	return math.NaN()
}
