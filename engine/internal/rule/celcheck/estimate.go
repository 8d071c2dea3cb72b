package celcheck

import (
	"slices"
	"strings"

	"github.com/google/cel-go/checker"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// estimateCost returns the highest cost of an expression for values of the given sizes.
func estimateCost(e *celenv.Env, c *Checked, s *sizes) (uint64, error) {
	cost, err := e.Base.EstimateCost(c.Ast, &library.CostEstimator{SizeEstimator: s})
	return cost.Max, err
}

// sizes gives the estimator the sizes of the parts of self by their declarations.
// (schema/cel/compilation.go, sizeEstimator)
type sizes struct {
	self *apiservercel.DeclType
	// asked, if not nil, is called for each part whose size the estimator asks for.
	asked func(path []string, t *apiservercel.DeclType)
	// instead holds sizes that replace the declared ones, by partKey.
	instead map[string]uint64
}

// The path steps that are not field names.
const (
	elementStep = "@items"
	valueStep   = "@values"
	keyStep     = "@keys"
)

// partKey returns the key of a part of self in sizes.instead.
func partKey(path []string) string { return strings.Join(path, "\x00") }

// EstimateSize implements checker.CostEstimator. The first step of a path is the variable, self or oldSelf.
func (s *sizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	t := s.self
	for _, step := range path[1:] {
		switch step {
		case elementStep, valueStep:
			t = t.ElemType
		case keyStep:
			t = t.KeyType
		default:
			f, ok := t.Fields[step]
			if !ok {
				return nil
			}
			t = f.Type
		}
		if t == nil {
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

// EstimateCallCost implements checker.CostEstimator. The libraries know the costs of their functions.
func (s *sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
