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

// tenth is the cost of going through a string or a container of the size: a tenth, rounded up, in the floating point arithmetic of cel-go.
func tenth(size uint64) uint64 {
	if size <= 10 {
		return (size + 9) / 10
	}
	return uint64(math.Ceil(float64(size) * common.StringTraversalCostFactor))
}

// size is a value's size to the cost tracker: code points of strings, bytes, members and elements, 1 for what has no size.
func (f *Frame) size(v val) uint64 {
	switch v.kind {
	case kindString:
		return v.str().size()
	case kindBytes:
		return uint64(len(v.text))
	case kindNode:
		return uint64(f.Doc.Nodes[uint32(v.word)].Live)
	case kindList:
		return uint64(len(v.span(f)))
	case kindMap:
		return uint64(len(v.span(f)) / 2)
	case kindRef:
		if r, ok := v.of.(ref.Val); ok {
			return sizeOf(r)
		}
	}
	return 1
}

// sizeOf is the size of cel-go's own value (interpreter.actualSize).
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

// callCost is the cost of a call as cel-go's tracker counts it: by the trackers of ext.Lists and ext.Sets, by the Kubernetes library's estimator, or
// by the rules of the tracker itself (interpreter/runtimecost.go). Where the result decides, it must be there.
func callCost(function, overload string, args []ref.Val, result ref.Val) uint64 {
	if cost, ok := trackedCost(overload, args, result); ok {
		return cost
	}
	if cost := estimator.CallCost(function, overload, args, result); cost != nil {
		return *cost
	}
	size := func(i int) float64 { return float64(sizeOf(args[i])) }
	scan := func(n float64) uint64 { return uint64(math.Ceil(n * common.StringTraversalCostFactor)) }
	switch overload {
	case overloads.StartsWithString, overloads.EndsWithString:
		return scan(size(1))
	case overloads.StringToBytes, overloads.BytesToString, overloads.ExtQuoteString, overloads.ExtFormatString:
		return scan(size(0))
	case overloads.InList:
		return sizeOf(args[1])
	case overloads.LessString, overloads.GreaterString, overloads.LessEqualsString, overloads.GreaterEqualsString,
		overloads.LessBytes, overloads.GreaterBytes, overloads.LessEqualsBytes, overloads.GreaterEqualsBytes:
		return scan(min(size(0), size(1)))
	case overloads.AddString, overloads.AddBytes:
		return scan(float64(sizeOf(args[0]) + sizeOf(args[1])))
	case overloads.Matches, overloads.MatchesString:
		return matchCost(sizeOf(args[0]), sizeOf(args[1]))
	case overloads.ContainsString:
		return scan(size(0)) * scan(size(1))
	}
	return 1
}

// matchCost is the cost of matching a string of the size with a pattern of the other.
func matchCost(size, pattern uint64) uint64 {
	return uint64(math.Ceil((1+float64(size))*common.StringTraversalCostFactor)) * patternCost(pattern)
}

func patternCost(size uint64) uint64 {
	return uint64(math.Ceil(float64(size) * common.RegexStringLengthCostFactor))
}

// trackedCost is the cost of overloads with trackers of their own (cel-go's ext/lists.go); sets.go has those of ext.Sets.
func trackedCost(overload string, args []ref.Val, result ref.Val) (uint64, bool) {
	t, found := trackers[overload]
	if !found {
		return 0, false
	}
	switch t {
	case trackOutput:
		return allocation(1, sizeOf(result)), true
	case trackFlatten:
		depth := 1.0
		if len(args) == 2 {
			n, _ := args[1].(types.Int)
			depth = float64(n)
		}
		return allocation(depth, sizeOf(args[0])), true
	case trackSelf:
		return selfComparison(args[0]), true
	}
	return selfComparison(args[1]), true // trackKeys
}

type tracker uint8

const (
	trackOutput  tracker = iota // a list as long as the result
	trackFlatten                // depth by length
	trackSelf                   // every element with every other
	trackKeys                   // the same, of the second operand
)

var trackers = func() map[string]tracker {
	t := map[string]tracker{
		"list_slice": trackOutput, "list_reverse": trackOutput, "list_flatten": trackFlatten, "list_flatten_int": trackFlatten, "list_distinct": trackSelf,
	}
	for _, k := range []*types.Type{
		types.IntType, types.UintType, types.DoubleType, types.BoolType, types.DurationType, types.TimestampType, types.StringType, types.BytesType,
	} {
		t["list_"+k.TypeName()+"_sort"] = trackSelf
		t["list_"+k.TypeName()+"_sortByAssociatedKeys"] = trackKeys
	}
	return t
}()

func allocation(factor float64, size uint64) uint64 {
	if factor < 0 {
		factor = 1
	}
	return uint64(float64(size)*factor) + 1 + common.ListCreateBaseCost
}

func selfComparison(v ref.Val) uint64 {
	list, ok := v.(traits.Lister)
	if !ok {
		return 1
	}
	n, factor := sizeOf(v), 2.0
	if n == 0 {
		return allocation(factor, 0)
	}
	switch list.Get(types.IntZero).Type() {
	case types.StringType, types.BytesType:
		factor += common.StringTraversalCostFactor
	}
	return allocation(factor, n*n)
}
