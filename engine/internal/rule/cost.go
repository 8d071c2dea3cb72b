package rule

import (
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/checker"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// What the rules of a CRD may cost by estimate, in CEL cost units.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go)
const (
	// EstimateLimit bounds one rule or message expression, times how often it may run for one object.
	EstimateLimit = 10_000_000
	// EstimateLimitTotal bounds the sum for the schema of one version.
	EstimateLimitTotal = 100_000_000
)

// Times multiplies costs and cardinalities; what does not fit is math.MaxUint64, which stands for any larger number.
func Times(cost, cardinality uint64) uint64 {
	if cost != 0 && cardinality > math.MaxUint64/cost {
		return math.MaxUint64
	}
	return cost * cardinality
}

// Plus adds costs, as Times multiplies them.
func Plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// mostOften is how often a value of this size can stand in a request at most: the cardinality of rules below a list or a map without
// a bound. (schema/cel/compilation.go, maxCardinality)
func mostOften(minSerializedSize int64) uint64 {
	return uint64(celconfig.MaxRequestSizeBytes / (minSerializedSize + 1)) // a comma between any two of them
}

// estimate returns the most that an expression may cost with values of the declared sizes.
func (e *Env) estimate(c *Checked, s *sizes) (uint64, error) {
	cost, err := e.base.EstimateCost(c.Ast, &library.CostEstimator{SizeEstimator: s})
	return cost.Max, err
}

// sizes tells the estimator how large the parts of self may be: as large as their declarations say.
// (schema/cel/compilation.go, sizeEstimator)
type sizes struct {
	self *apiservercel.DeclType
	// asked, if not nil, is told each part whose size the estimator wants.
	asked func(path []string, t *apiservercel.DeclType)
	// instead holds other sizes than those declared, by partKey.
	instead map[string]uint64
}

// The steps of a path that are no field names.
const (
	elementStep = "@items"
	valueStep   = "@values"
	keyStep     = "@keys"
)

// partKey names a part of self in sizes.instead.
func partKey(path []string) string { return strings.Join(path, "\x00") }

// EstimateSize implements checker.CostEstimator. The first step of a path is the variable, self or oldSelf.
func (s *sizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	t := s.self
	for _, step := range path[1:] {
		if t = below(t, step); t == nil {
			return nil
		}
	}
	if s.asked != nil {
		s.asked(slices.Clone(path[1:]), t)
	}
	size := uint64(t.MaxElements)
	if s.instead != nil {
		if other, ok := s.instead[partKey(path[1:])]; ok {
			size = other
		}
	}
	return &checker.SizeEstimate{Max: size}
}

func below(t *apiservercel.DeclType, step string) *apiservercel.DeclType {
	switch step {
	case elementStep, valueStep:
		return t.ElemType
	case keyStep:
		return t.KeyType
	}
	if f, ok := t.Fields[step]; ok {
		return f.Type
	}
	return nil
}

// EstimateCallCost implements checker.CostEstimator: there is nothing to add to what the libraries know of their functions.
func (s *sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
