package rule

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// guards are the functions that can take long, or much memory, for what they cost or before they are charged. What is not here takes a millisecond or
// two for an object of 3 MiB.
var guards map[string]guard

func init() {
	guards = map[string]guard{
		"distinct":              quadratic(0, "list_distinct"),
		"sort":                  quadratic(0, ""),
		"@sortByAssociatedKeys": quadratic(1, ""),
		"sets.contains":         product(1),
		"sets.intersects":       product(1),
		"sets.equivalent":       product(2),
		"lists.range":           listMaking,
		"flatten":               flatten,
		"slice":                 listMaking,
		"reverse":               listMaking,
		"_+_":                   add,
		"split":                 listMaking,
		"join":                  join,
		"replace":               replace,
		"format":                format,
		"indexOf":               indexOf,
		"lastIndexOf":           lastIndexOf,
		"quantity":              quantity,
		"isQuantity":            quantity,
		"matches":               matches,
		"find":                  find,
		"findAll":               findAll,
	}
	for _, name := range linear {
		guards[name] = call.watched
	}
	for _, name := range parsers {
		guards[name] = parsed
	}
}

// linear are functions that go through their arguments once.
var linear = []string{
	"_==_", "_!=_", "@in", "isSorted", "sum", "min", "max", "includes", "lowerAscii", "upperAscii", "substring", "charAt", "trim", "strings.quote",
	"bytes", "string",
}

// uncalled stands for the result of a call that was left out because its cost ends the evaluation. Nobody sees it but the cost tracker.
const uncalled = types.False

// sized is uncalled where the cost follows from the size of the result.
type sized struct {
	types.Bool
	n uint64
}

// Size implements traits.Sizer.
func (s sized) Size() ref.Val { return types.Int(s.n) }

// over reports whether a call costs more than a whole evaluation may.
func (s *stopper) over(cost uint64) bool { return s != nil && cost > s.limit }

// Costs of list functions, as cel-go's trackers have them (ext/lists.go, trackAllocatingListCall; ext/sets.go, trackSetsCost).
const callAndList = 1 + common.ListCreateBaseCost

// quadratic guards functions that are charged for comparing all elements with each other. Without a known overload, and without one that is
// tracked, they are charged 1 and run.
func quadratic(keys int, overload string) guard {
	return func(c call) ref.Val {
		list, ok := c.args[min(keys, len(c.args)-1)].(traits.Lister)
		if !ok || c.overload == "" || overload != "" && c.overload != overload {
			return c.watched()
		}
		if n := size(list); n > 0 {
			factor := 2.0
			if of := list.Get(types.IntZero).Type(); of == types.StringType || of == types.BytesType {
				factor += common.StringTraversalCostFactor
			}
			if c.s.over(uint64(float64(n*n)*factor) + callAndList) {
				return uncalled
			}
		}
		return c.s.watch(c.watched())
	}
}

// product guards functions that compare each element of one list with each of another.
func product(factor float64) guard {
	return func(c call) ref.Val {
		a, ok := c.args[0].(traits.Lister)
		b, also := c.args[1].(traits.Lister)
		if ok && also && c.s.over(1+uint64(float64(size(a)*size(b))*factor)) {
			return uncalled
		}
		return c.watched()
	}
}

// listMaking guards functions whose result is a list no longer than what they are given, or than a million elements.
func listMaking(c call) ref.Val { return c.s.watch(c.watched()) }

// flatten costs what the outermost list has elements, whatever there is in them.
func flatten(c call) ref.Val {
	list, ok := c.args[0].(traits.Lister)
	depth := types.Int(1)
	if len(c.args) == 2 {
		depth, _ = c.args[1].(types.Int)
	}
	if ok && c.s != nil && c.s.flattened(list, depth, 0) > watchFrom {
		return c.s.watch(waitFor(c.s, func() ref.Val { return c.run(c.args...) }))
	}
	return c.run(c.args...)
}

// flattened counts the elements of the result, so that the evaluation ends before they are too many.
func (s *stopper) flattened(list traits.Lister, depth types.Int, n uint64) uint64 {
	if n += size(list); depth <= 0 {
		s.within(madeList, float64(n))
		return n
	}
	for i, end := types.IntZero, types.Int(size(list)); i < end; i++ {
		s.poll()
		if nested, ok := list.Get(i).(traits.Lister); ok {
			n = s.flattened(nested, depth-1, n)
		}
	}
	return n
}

// add guards concatenation: of texts, whose cost is that of a number where the types are not known, and of lists.
func add(c call) ref.Val {
	a, b := c.args[0], c.args[1]
	var bytes int
	switch a := a.(type) {
	case types.String:
		b, ok := b.(types.String)
		if !ok {
			return c.watched()
		}
		bytes = len(a) + len(b)
	case types.Bytes:
		b, ok := b.(types.Bytes)
		if !ok {
			return c.watched()
		}
		bytes = len(a) + len(b)
	case traits.MutableLister:
		return c.run(c.args...) // the list under way of a comprehension
	case traits.Lister:
		return c.s.watch(c.watched())
	default:
		return c.run(c.args...)
	}
	if bytes > maxTextBytes {
		if (c.overload == "add_string" || c.overload == "add_bytes") && c.s.over(traversal(sizeOf(a)+sizeOf(b))) {
			return uncalled
		}
		c.s.within(madeText, float64(bytes))
	}
	return c.watched()
}

// traversal is the cost of going through a text once.
func traversal(size uint64) uint64 {
	return uint64(math.Ceil(float64(size) * common.StringTraversalCostFactor))
}

func size(list traits.Lister) uint64 { return sizeOf(list) }

func sizeOf(v any) uint64 {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return uint64(n)
		}
	}
	return 1
}
