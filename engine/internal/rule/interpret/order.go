package interpret

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"
)

// Go's maps have no order, so upstream gives one of several answers to a macro over the keys of a map: which error
// comes first, what it costs until the answer is known. Here the answer is always the same: objects have the order of
// the document, other maps are sorted. The range of each comprehension that may be a map is wrapped in a call that
// costs nothing.

// rangeFunction is the function of that call. No expression can spell it.
const rangeFunction = "@orderedRange"

// OrderRanges wraps the ranges of comprehensions in a checked expression, which it changes.
func OrderRanges(a *ast.AST) {
	factory, next := ast.NewExprFactory(), ast.MaxID(a)+1
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		c := e.AsComprehension()
		of := a.GetType(c.IterRange().ID())
		if of.Kind() == types.ListKind {
			return
		}
		ordered := factory.NewCall(next, rangeFunction, c.IterRange())
		a.SetType(next, of)
		next++
		e.SetKindCase(factory.NewComprehensionTwoVar(e.ID(), ordered, c.IterVar(), c.IterVar2(), c.AccuVar(), c.AccuInit(),
			c.LoopCondition(), c.LoopStep(), c.Result()))
	}))
}

// costs are upstream's, and zero for rangeFunction.
type costs struct{ k8slibrary.CostEstimator }

func (c *costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if function == rangeFunction {
		return new(uint64)
	}
	return c.CostEstimator.CallCost(function, overload, args, result)
}

// orderedRange evaluates the range of a comprehension.
func (r *replaced) orderedRange(frame *interpreter.ExecutionFrame) ref.Val {
	over := r.args[0].Exec(frame)
	m, ok := over.(traits.Mapper)
	if !ok {
		return over
	}
	return &orderedMap{Mapper: m, keys: evaluationOf(frame).orderedKeys(m)}
}

// orderedMap is a map whose keys have an order.
type orderedMap struct {
	traits.Mapper
	keys []ref.Val
}

func (m *orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, m.keys).Iterator()
}

// orderedKeys returns the keys of a map in order. Nil keys, which upstream's iterators yield for members that rules
// cannot see, come last.
func (e *Evaluation) orderedKeys(m traits.Mapper) []ref.Val {
	keys := make([]ref.Val, 0, 8)
	for it := m.Iterator(); it.HasNext() == types.True; {
		e.poll()
		keys = append(keys, it.Next())
	}
	if len(keys) < 2 {
		return keys
	}
	positions := e.positions(m)
	slices.SortStableFunc(keys, func(a, b ref.Val) int {
		e.poll()
		if positions != nil {
			return cmp.Compare(positionOf(a, positions), positionOf(b, positions))
		}
		if c := cmp.Compare(keyRank(a), keyRank(b)); c != 0 || a == nil {
			return c
		}
		if c, ok := a.(traits.Comparer); ok {
			if n, ok := c.Compare(b).(types.Int); ok {
				return int(n)
			}
		}
		return 0
	})
	return keys
}

// keyRank orders the types of keys. Numbers compare with each other.
func keyRank(key ref.Val) int {
	switch key.(type) {
	case types.Bool:
		return 0
	case types.Int, types.Uint, types.Double:
		return 1
	case types.String:
		return 2
	case nil:
		return 4
	}
	return 3
}

// positionOf returns the position of a member by its key, which is escaped for declared members. Other keys come last.
func positionOf(key ref.Val, positions map[string]int) int {
	name, _ := key.(types.String)
	at, ok := positions[string(name)]
	if !ok {
		plain, _ := apiservercel.Unescape(string(name))
		at, ok = positions[plain]
	}
	if key == nil || !ok {
		return len(positions)
	}
	return at
}

// positions returns the positions of an object's members in the document, nil for a map that is not of the document.
func (e *Evaluation) positions(m traits.Mapper) map[string]int {
	data, ok := m.Value().(map[string]any)
	if !ok {
		return nil
	}
	node, ok := e.objects[address(data)]
	if !ok {
		return nil
	}
	positions := make(map[string]int, len(data))
	for c := e.Doc.Nodes[node].First; c != 0; c = e.Doc.Nodes[c].Next {
		e.poll()
		positions[e.Doc.Key(c)] = len(positions)
	}
	return positions
}

// address identifies a map.
func address(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }
