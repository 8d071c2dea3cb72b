package rule

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"

	"github.com/crdeval/crdeval/internal/value"
)

// Go's maps have no order, so a macro over the keys of a map gives one of several answers on cel-go: which error comes first, what it cost until it
// knew. Replays give always the same one of them: keys of an object in the order of the document, others sorted. To that end the range of each
// comprehension that may be a map is wrapped in a call that costs nothing.

// inOrderName is the function of that call. No expression can spell it.
const inOrderName = "@inOrder"

// orderFolds wraps the ranges of comprehensions in a checked expression, which it changes.
func orderFolds(a *ast.AST) {
	factory, next := ast.NewExprFactory(), ast.MaxID(a)+1
	visit(a.Expr(), func(e ast.Expr) bool {
		if e.Kind() != ast.ComprehensionKind {
			return true
		}
		c := e.AsComprehension()
		of := a.GetType(c.IterRange().ID())
		if of.Kind() == types.ListKind {
			return true
		}
		over := factory.NewCall(next, inOrderName, c.IterRange())
		a.SetType(next, of)
		next++
		e.SetKindCase(factory.NewComprehensionTwoVar(e.ID(), over, c.IterVar(), c.IterVar2(), c.AccuVar(), c.AccuInit(), c.LoopCondition(),
			c.LoopStep(), c.Result()))
		return true
	})
}

// orderOptions make programs of such expressions.
func orderOptions() []cel.ProgramOption {
	return []cel.ProgramOption{cel.CostTracking(&costs{}), cel.CustomDecoratorV2(decorateRanges)}
}

// decorateRanges plans the wrapped ranges, and comparisons of objects.
func decorateRanges(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	switch {
	case !ok:
	case call.Function() == inOrderName:
		return &ordering{InterpretableCall: call, of: call.Args()[0]}, nil
	case call.Function() == operators.Equals && len(call.Args()) == 2:
		return &equal{InterpretableCall: call, args: call.Args()}, nil
	}
	return i, nil
}

// costs are upstream's, and none for what is not upstream's.
type costs struct{ k8slibrary.CostEstimator }

// CallCost implements interpreter.ActualCostEstimator.
func (c *costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if function == inOrderName {
		return new(uint64)
	}
	return c.CostEstimator.CallCost(function, overload, args, result)
}

// ordering evaluates the range of a comprehension.
type ordering struct {
	interpreter.InterpretableCall
	of interpreter.InterpretableV2
}

// Args implements interpreter.InterpretableCall.
func (o *ordering) Args() []interpreter.InterpretableV2 { return []interpreter.InterpretableV2{o.of} }

// Eval implements interpreter.Interpretable.
func (o *ordering) Eval(vars interpreter.Activation) ref.Val {
	return o.Exec(interpreter.AsFrame(vars))
}

// Exec implements interpreter.InterpretableV2.
func (o *ordering) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	over := o.of.Exec(frame)
	m, ok := over.(traits.Mapper)
	if !ok {
		return over
	}
	found, _ := frame.ResolveName(orderName)
	known, _ := found.(*order)
	return &inOrder{Mapper: m, keys: known.keys(m, stopperOf(frame))}
}

// inOrder is a map whose keys have an order. Comprehensions alone see it.
type inOrder struct {
	traits.Mapper
	keys []ref.Val
}

// Iterator implements traits.Iterable.
func (m *inOrder) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, m.keys).Iterator()
}

// orderName resolves to the order of an evaluation's objects. No expression can spell it.
const orderName = "@order"

// order knows where the objects of an evaluation stand in the document.
type order struct {
	d     *value.Doc
	roots []root
	nodes map[uintptr]uint32 // by the address of the Go map; nil until it is needed
}

type root struct {
	data any
	node uint32
}

// keys are the keys of a map in order. A key that stands for none, which upstream's iteration over objects with unknown members has, comes last.
func (o *order) keys(m traits.Mapper, s *stopper) []ref.Val {
	keys := make([]ref.Val, 0, 8)
	for it := m.Iterator(); it.HasNext() == types.True; {
		s.poll()
		keys = append(keys, it.Next())
	}
	if len(keys) < 2 {
		return keys
	}
	if places := o.places(m, s); places != nil {
		return inPlace(keys, places, s)
	}
	slices.SortStableFunc(keys, func(a, b ref.Val) int {
		s.poll()
		x, isText := a.(types.String)
		y, areTexts := b.(types.String)
		switch {
		case a == nil || b == nil:
			return cmp.Compare(rank(a), rank(b))
		case isText && areTexts:
			return cmp.Compare(x, y)
		case rank(a) != rank(b):
			return cmp.Compare(rank(a), rank(b))
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

// inPlace puts the keys of an object in the order of its members. Objects with declared members give them by the names that expressions have.
func inPlace(keys []ref.Val, places map[string]int, s *stopper) []ref.Val {
	inOrder, behind := make([]ref.Val, len(places)), 0
	for _, key := range keys {
		s.poll()
		name, _ := key.(types.String)
		at, ok := places[string(name)]
		if !ok {
			plain, _ := apiservercel.Unescape(string(name))
			at, ok = places[plain]
		}
		if key == nil || !ok || inOrder[at] != nil {
			keys[behind] = key
			behind++
			continue
		}
		inOrder[at] = key
	}
	inOrder = slices.DeleteFunc(inOrder, func(key ref.Val) bool { return key == nil })
	return slices.Concat(inOrder, keys[:behind])
}

// rank puts the types of keys in order: numbers compare with each other.
func rank(key ref.Val) int {
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

// places are the places of an object's members in the document, nil for a map that is not of the document.
func (o *order) places(m traits.Mapper, s *stopper) map[string]int {
	data, ok := m.Value().(map[string]any)
	if !ok || o == nil {
		return nil
	}
	if o.nodes == nil {
		o.nodes = map[uintptr]uint32{}
		for _, r := range o.roots {
			o.note(r.data, r.node, s)
		}
	}
	node, ok := o.nodes[reflect.ValueOf(data).Pointer()]
	if !ok {
		return nil
	}
	places := make(map[string]int, len(data))
	for c := o.d.Nodes[node].First; c != 0; c = o.d.Nodes[c].Next {
		s.poll()
		places[o.d.Key(c)] = len(places)
	}
	return places
}

// note remembers the objects at and below a node.
func (o *order) note(data any, node uint32, s *stopper) {
	s.poll()
	switch data := data.(type) {
	case map[string]any:
		o.nodes[reflect.ValueOf(data).Pointer()] = node
		for c := o.d.Nodes[node].First; c != 0; c = o.d.Nodes[c].Next {
			o.note(data[o.d.Key(c)], c, s)
		}
	case []any:
		k := 0
		for c := o.d.Nodes[node].First; c != 0 && k < len(data); c, k = o.d.Nodes[c].Next, k+1 {
			o.note(data[k], c, s)
		}
	}
}
