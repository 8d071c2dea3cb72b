package rule

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/api/equality"
	celcommon "k8s.io/apiserver/pkg/cel/common"
)

// equal evaluates ==. Upstream compares objects in the order of a Go map, and answers what it comes upon first: two members that differ, or one that is
// none of its type, which is an error. Here the order is that of the document. What != answers does not depend on it: an error is no equality.
type equal struct {
	interpreter.InterpretableCall
	args []interpreter.InterpretableV2
}

// Eval implements interpreter.Interpretable.
func (e *equal) Eval(vars interpreter.Activation) ref.Val { return e.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (e *equal) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	x, y := e.args[0].Exec(frame), e.args[1].Exec(frame)
	switch {
	case types.IsUnknownOrError(x):
		return x
	case types.IsUnknownOrError(y):
		return y
	}
	same := types.Equal(x, y)
	if same == types.True {
		return same
	}
	found, _ := frame.ResolveName(orderName)
	known, _ := found.(*order)
	return known.unequal(x, y, same, stopperOf(frame))
}

// unequal is the first reason in order for which two values are not equal; said is upstream's answer, which is that for all but objects.
func (o *order) unequal(x, y, said ref.Val, s *stopper) ref.Val {
	if !upstreams(x) || !upstreams(y) {
		return said
	}
	answer := ref.Val(nil)
	switch data := x.Value().(type) {
	case map[string]any:
		if other, ok := y.Value().(map[string]any); ok && len(data) > 0 {
			answer = o.unequalMembers(x.(traits.Mapper), y.(traits.Mapper), data, other, s)
		}
	case []any:
		if other, ok := y.Value().([]any); ok && len(data) == len(other) && inSequence(x) {
			answer = o.unequalElements(x.(traits.Lister), y.(traits.Lister), len(data), s)
		}
	}
	if answer == nil {
		return said
	}
	return answer
}

// unequalMembers compares objects as upstream does, in order; nil if they are equal.
func (o *order) unequalMembers(x, y traits.Mapper, data, other map[string]any, s *stopper) ref.Val {
	if x.Size() != y.Size() {
		return types.False
	}
	for _, name := range o.names(x, data, s) {
		s.poll()
		v, found := x.Find(types.String(name))
		w, also := y.Find(types.String(name))
		if found != also {
			return types.False
		}
		if !found { // a null, or nothing that the schema knows
			if raw, ok := other[name]; ok && !equality.Semantic.DeepEqual(data[name], raw) {
				return types.False
			}
			continue
		}
		if same := v.Equal(w); same != types.True {
			return o.unequal(v, w, same, s)
		}
	}
	return nil
}

func (o *order) unequalElements(x, y traits.Lister, n int, s *stopper) ref.Val {
	for i := range n {
		s.poll()
		v, w := x.Get(types.Int(i)), y.Get(types.Int(i))
		if same := v.Equal(w); same != types.True {
			return o.unequal(v, w, same, s)
		}
	}
	return nil
}

// names are the names of an object's members in the order of the document, of any other in that of the alphabet.
func (o *order) names(m traits.Mapper, data map[string]any, s *stopper) []string {
	names := slices.Sorted(maps.Keys(data))
	if places := o.places(m, s); places != nil {
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(places[a], places[b]) })
	}
	return names
}

// upstreams reports that a value is one of upstream's, over unstructured data.
func upstreams(v ref.Val) bool {
	t := reflect.TypeOf(v)
	return t != nil && t.Kind() == reflect.Pointer && t.Elem().PkgPath() == upstreamPackage
}

// inSequence reports that a list is compared element by element; sets and lists of type map are not.
func inSequence(list ref.Val) bool { return reflect.TypeOf(list).Elem().Name() == "unstructuredList" }

var upstreamPackage = reflect.TypeFor[celcommon.MapList]().PkgPath()
