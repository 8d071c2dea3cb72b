package closure

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/library"
)

// TraversalCost is the cost of going through a string or a container of a size: a tenth, rounded up in the floating
// point arithmetic of cel-go.
func TraversalCost(size uint64) uint64 {
	if size <= 10 {
		return (size + 9) / 10
	}
	return uint64(math.Ceil(float64(size) * common.StringTraversalCostFactor))
}

// size returns the size of a value for costs: code points of strings, bytes, members and elements, 1 for other values.
func (f *Frame) size(v val) uint64 {
	switch v.kind {
	case kindString:
		return v.chars()
	case kindBytes:
		return uint64(len(v.text()))
	case kindNode:
		return uint64(f.Doc.Nodes[uint32(v.word)].Live)
	case kindList:
		return uint64(len(v.span(f)))
	case kindEntries:
		return uint64(len(v.of.(*entries).keys))
	case kindRef:
		return SizeOf(v.ref())
	}
	return 1
}

// SizeOf returns the size of cel-go's own value (interpreter.actualSize).
func SizeOf(v ref.Val) uint64 {
	if s, ok := v.(traits.Sizer); ok {
		n, _ := s.Size().(types.Int)
		return uint64(n)
	}
	if o, ok := v.(*types.Optional); ok && o.HasValue() {
		return SizeOf(o.GetValue())
	}
	return 1
}

var estimator library.CostEstimator

// callCost returns the cost of a call as cel-go's tracker counts it: by the estimator of the Kubernetes library, or by
// the tracker's own rules (interpreter/runtimecost.go).
func callCost(function, overload string, args []ref.Val) uint64 {
	if cost := estimator.CallCost(function, overload, args, nil); cost != nil {
		return *cost
	}
	switch overload {
	case overloads.StartsWithString, overloads.EndsWithString:
		return TraversalCost(SizeOf(args[1]))
	case overloads.StringToBytes, overloads.BytesToString, overloads.ExtQuoteString, overloads.ExtFormatString:
		return TraversalCost(SizeOf(args[0]))
	case overloads.InList:
		return SizeOf(args[1])
	case overloads.LessString, overloads.GreaterString, overloads.LessEqualsString, overloads.GreaterEqualsString,
		overloads.LessBytes, overloads.GreaterBytes, overloads.LessEqualsBytes, overloads.GreaterEqualsBytes:
		return TraversalCost(min(SizeOf(args[0]), SizeOf(args[1])))
	case overloads.AddString, overloads.AddBytes:
		return TraversalCost(SizeOf(args[0]) + SizeOf(args[1]))
	case overloads.Matches, overloads.MatchesString:
		return MatchCost(SizeOf(args[0]), SizeOf(args[1]))
	case overloads.ContainsString:
		return TraversalCost(SizeOf(args[0])) * TraversalCost(SizeOf(args[1]))
	}
	return 1
}

// MatchCost returns the cost of matching a string with a pattern, by their sizes.
func MatchCost(size, patternSize uint64) uint64 {
	return TraversalCost(1+size) * uint64(math.Ceil(float64(patternSize)*common.RegexStringLengthCostFactor))
}
