package interpret

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

// orderedEqual evaluates ==. Upstream compares objects in the order of a Go map and returns what it finds first: two
// members that differ, or an error about a member of another type. Here the order is that of the document. != does not
// depend on the order: it treats an error as a difference.
func (r *replaced) orderedEqual(frame *interpreter.ExecutionFrame) ref.Val {
	x, y := r.args[0].Exec(frame), r.args[1].Exec(frame)
	switch {
	case types.IsUnknownOrError(x):
		return x
	case types.IsUnknownOrError(y):
		return y
	}
	equal := types.Equal(x, y)
	if equal == types.True {
		return equal
	}
	return evaluationOf(frame).firstDifference(x, y, equal)
}

// firstDifference returns the first result in order for which two values are not equal. upstream is upstream's result,
// which it returns for everything but objects.
func (e *Evaluation) firstDifference(x, y, upstream ref.Val) ref.Val {
	if !isUnstructured(x) || !isUnstructured(y) {
		return upstream
	}
	result := ref.Val(nil)
	switch data := x.Value().(type) {
	case map[string]any:
		a, isMap := x.(traits.Mapper) // data that x-kubernetes-preserve-unknown-fields keeps is not a Mapper
		b, also := y.(traits.Mapper)
		if other, ok := y.Value().(map[string]any); ok && len(data) > 0 && isMap && also {
			result = e.differentMembers(a, b, data, other)
		}
	case []any:
		// Only this type compares element by element; sets and lists of type map do not.
		sequential := reflect.TypeOf(x).Elem().Name() == "unstructuredList"
		if other, ok := y.Value().([]any); ok && len(data) == len(other) && sequential {
			a, b := x.(traits.Lister), y.(traits.Lister)
			for i := 0; i < len(data) && result == nil; i++ {
				e.poll()
				result = e.different(a.Get(types.Int(i)), b.Get(types.Int(i)))
			}
		}
	}
	if result == nil {
		return upstream
	}
	return result
}

// different returns nil if two values are equal.
func (e *Evaluation) different(v, w ref.Val) ref.Val {
	if equal := v.Equal(w); equal != types.True {
		return e.firstDifference(v, w, equal)
	}
	return nil
}

// differentMembers compares objects as upstream does, but in order. It returns nil if they are equal.
func (e *Evaluation) differentMembers(x, y traits.Mapper, data, other map[string]any) ref.Val {
	if x.Size() != y.Size() {
		return types.False
	}
	names := slices.Sorted(maps.Keys(data))
	if positions := e.positions(x); positions != nil {
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(positions[a], positions[b]) })
	}
	for _, name := range names {
		e.poll()
		v, found := x.Find(types.String(name))
		w, also := y.Find(types.String(name))
		if found != also {
			return types.False
		}
		if !found { // a null, or a member that the schema does not declare
			if raw, ok := other[name]; ok && !equality.Semantic.DeepEqual(data[name], raw) {
				return types.False
			}
			continue
		}
		if result := e.different(v, w); result != nil {
			return result
		}
	}
	return nil
}

// isUnstructured reports whether a value is one of upstream's over unstructured data.
func isUnstructured(v ref.Val) bool {
	t := reflect.TypeOf(v)
	return t != nil && t.Kind() == reflect.Pointer && t.Elem().PkgPath() == upstreamPackage
}

var upstreamPackage = reflect.TypeFor[celcommon.MapList]().PkgPath()
