package celcheck

import (
	"slices"
	"strings"

	"github.com/google/cel-go/checker"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
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
	// values: sizes that upstream does not know are those of unknown. Values of maps can be selected like fields.
	values *celast.AST
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
		return s.unknown(node)
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
			switch {
			case ok:
				t = f.Type
			case s.values != nil && t.IsMap():
				t = t.ElemType
			default:
				return s.unknown(node)
			}
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

// unknownSize is the size of a computed text or container that nothing bounds. For upstream it is infinite: no rule can
// append a text to string(self.port) or to self.host.split('.')[0]. Limits at run time bound the cost.
const unknownSize = 4 << 10

// printedSizes are the longest texts of scalars.
var printedSizes = map[types.Kind]uint64{
	types.BoolKind: 5, types.IntKind: 20, types.UintKind: 20, types.DoubleKind: 24, types.DurationKind: 24,
	types.TimestampKind: 35,
}

// unknown returns the size of a value that upstream does not know, nil for rules.
func (s *sizes) unknown(node checker.AstNode) *checker.SizeEstimate {
	e := node.Expr()
	if s.values == nil || node.Type() == nil {
		return nil
	}
	switch node.Type().Kind() {
	case types.StringKind, types.BytesKind, types.DynKind, types.ListKind, types.MapKind:
	default:
		return nil
	}
	if e == nil { // an element of a computed list
		return &checker.SizeEstimate{Max: unknownSize}
	}
	switch e.Kind() {
	case celast.IdentKind:
		if strings.HasPrefix(e.AsIdent(), "@") || strings.HasPrefix(e.AsIdent(), "__") { // an accumulator
			return nil
		}
	case celast.CallKind:
		if call := e.AsCall(); call.FunctionName() == "string" && len(call.Args()) == 1 {
			if size, ok := printedSizes[s.values.GetType(call.Args()[0].ID()).Kind()]; ok {
				return &checker.SizeEstimate{Max: size}
			}
		}
	case celast.SelectKind:
	default:
		return nil
	}
	return &checker.SizeEstimate{Max: unknownSize}
}

// EstimateCallCost implements checker.CostEstimator. The libraries know the costs of their functions.
func (s *sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
