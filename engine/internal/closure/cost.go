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

// tenth is the cost of going through a string or a container of a size, rounded up, in the floating point arithmetic of
// cel-go.
func tenth(size uint64) uint64 {
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
	case kindRef:
		return sizeOf(v.ref())
	}
	return 1
}

// sizeOf returns the size of cel-go's own value (interpreter.actualSize).
func sizeOf(v ref.Val) uint64 {
	if s, ok := v.(traits.Sizer); ok {
		n, _ := s.Size().(types.Int)
		return uint64(n)
	}
	if o, ok := v.(*types.Optional); ok && o.HasValue() {
		return sizeOf(o.GetValue())
	}
	return 1
}

var estimator library.CostEstimator

// callCost returns the cost of a call as cel-go's tracker counts it: by the estimator of the Kubernetes library, or by the
// tracker's own rules (interpreter/runtimecost.go).
func callCost(function, overload string, args []ref.Val) uint64 {
	if cost := estimator.CallCost(function, overload, args, nil); cost != nil {
		return *cost
	}
	switch overload {
	case overloads.StartsWithString, overloads.EndsWithString:
		return tenth(sizeOf(args[1]))
	case overloads.StringToBytes, overloads.BytesToString, overloads.ExtQuoteString, overloads.ExtFormatString:
		return tenth(sizeOf(args[0]))
	case overloads.InList:
		return sizeOf(args[1])
	case overloads.LessString, overloads.GreaterString, overloads.LessEqualsString, overloads.GreaterEqualsString,
		overloads.LessBytes, overloads.GreaterBytes, overloads.LessEqualsBytes, overloads.GreaterEqualsBytes:
		return tenth(min(sizeOf(args[0]), sizeOf(args[1])))
	case overloads.AddString, overloads.AddBytes:
		return tenth(sizeOf(args[0]) + sizeOf(args[1]))
	case overloads.Matches, overloads.MatchesString:
		return matchCost(sizeOf(args[0]), patternCost(sizeOf(args[1])))
	case overloads.ContainsString:
		return tenth(sizeOf(args[0])) * tenth(sizeOf(args[1]))
	}
	return 1
}

// matchCost returns the cost of matching a string of a size with a pattern.
func matchCost(size, patternCost uint64) uint64 { return tenth(1+size) * patternCost }

func patternCost(size uint64) uint64 {
	return uint64(math.Ceil(float64(size) * common.RegexStringLengthCostFactor))
}
