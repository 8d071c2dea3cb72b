package closure

import (
	"math"
	"strconv"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/overloads"
)

// splitting compiles split of two strings, which costs a fifth of the first one.
func splitting(_ *compiler, k callee, args []*expr) *expr {
	if len(args) != 2 || args[0].shape.kind != kindString || args[1].shape.kind != kindString {
		return nil
	}
	if args[1].isConst && args[1].constant.text() == "" { // separates the code points
		return nil
	}
	l, r := textOf(args[0], false), textOf(args[1], false)
	return &expr{shape: k.result, v: func(f *Frame) (val, bool) {
		s, n, ok := l.get(f)
		sep, _, also := r.get(f)
		f.Cost += uint64(math.Ceil(float64(n) * 2 * common.StringTraversalCostFactor))
		if !ok || !also || sep == "" || f.Cost > f.Limit {
			return val{}, false
		}
		from, wide := len(f.stack), n < uint64(len(s))
		for more := true; more; {
			var part string
			part, s, more = strings.Cut(s, sep)
			if !f.tick() || !f.push(textVal(kindString, part, wide)) {
				return val{}, false
			}
		}
		return f.store(from)
	}}
}

// integerOf compiles int of a string, which costs 1.
func integerOf(_ *compiler, k callee, args []*expr) *expr {
	if k.overload != overloads.StringToInt || args[0].shape.kind != kindString {
		return nil
	}
	l := textOf(args[0], false)
	return &expr{shape: k.result, v: func(f *Frame) (val, bool) {
		s, _, ok := l.get(f)
		f.Cost++
		i, err := strconv.ParseInt(s, 10, 64)
		return intVal(i), ok && err == nil
	}}
}
