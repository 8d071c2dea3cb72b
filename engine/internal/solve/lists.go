package solve

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// items returns the elements of a list.
func items(v ref.Val) (list []ref.Val) {
	l, ok := v.(traits.Lister)
	if !ok {
		return nil
	}
	n, _ := l.Size().(types.Int)
	for i := types.Int(0); i < min(n, mostIterations); i++ {
		list = append(list, l.Get(i))
	}
	return list
}

// size returns the size of a value, or -1.
func size(v ref.Val) int64 {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return int64(n)
		}
	}
	return -1
}

// element returns where the element of a list comes from.
func (s *run) element(e ast.Expr, v *env, i int, item ref.Val) source {
	if at := s.locate(e, v); at != nil {
		return source{place: at.at(tree.At(i))}
	}
	if !s.enter() {
		return source{}
	}
	defer s.leave()
	switch e.Kind() {
	case ast.IdentKind:
		set := v.find(e.AsIdent()).from.set
		now := items(v.find(e.AsIdent()).value)
		if set != nil && i < len(now) {
			return source{set: func(to ref.Val) { set(replaced(now, i, to)) }}
		}
	case ast.ListKind:
		return source{set: func(to ref.Val) { s.assign(e.AsList().Elements()[i], v, to) }}
	case ast.ComprehensionKind:
		f := foldOf(e)
		switch f.kind {
		case foldBind:
			return s.element(f.yield, s.bound(f, v), i, item)
		case foldList:
			if inside := s.yielding(f, v); i < len(inside) {
				in := inside[i]
				return source{place: s.locate(f.yield, in), set: func(to ref.Val) { s.assign(f.yield, in, to) }}
			}
		}
	case ast.CallKind:
		name, list := args(e)
		switch name {
		case "split":
			parts := items(s.eval(e, v))
			return source{set: func(to ref.Val) { s.assign(e, v, replaced(parts, i, to)) }}
		case operators.Add:
			if n := int(size(s.eval(list[0], v))); i < n {
				return s.element(list[0], v, i, item)
			} else if n >= 0 {
				return s.element(list[1], v, i-n, item)
			}
		case operators.Conditional:
			if s.eval(list[0], v) == types.True {
				return s.element(list[1], v, i, item)
			}
			return s.element(list[2], v, i, item)
		}
		for j, other := range items(s.eval(list[0], v)) { // a list with some of the elements of another one
			if other.Equal(item) == types.True {
				return s.element(list[0], v, j, item)
			}
		}
	}
	return source{}
}

// replaced returns a list with another element.
func replaced(list []ref.Val, i int, to ref.Val) ref.Val {
	list = slices.Clone(list)
	list[i] = to
	return types.NewRefValList(types.DefaultTypeAdapter, list)
}

// yielding returns the environments of the elements for which a macro has an element.
func (s *run) yielding(f *fold, v *env) (list []*env) {
	for _, in := range s.iterations(f, v) {
		if f.pred == nil || s.eval(f.pred, in) == types.True {
			list = append(list, in)
		}
	}
	return list
}

// assignFold is assign for a macro.
func (s *run) assignFold(f *fold, v *env, to ref.Val) {
	switch f.kind {
	case foldBind:
		s.assign(f.yield, s.bound(f, v), to)
	case foldList:
		want := items(to)
		s.resizeFold(f, v, int64(len(want)))
		for i, in := range s.yielding(f, v) {
			if i < len(want) {
				s.assign(f.yield, in, want[i])
			}
		}
	default:
		if b, ok := to.(types.Bool); ok {
			s.wantFold(f, v, bool(b))
		}
	}
}

// assignList is assign for functions of lists. It returns false for other functions.
func (s *run) assignList(name string, list []ast.Expr, v *env, to ref.Val) bool {
	if len(list) == 0 {
		return false
	}
	now := s.eval(list[0], v)
	elements := items(now)
	n, isNumber := to.(types.Int)
	switch name {
	case "size":
		if isNumber {
			s.resize(list[0], v, int64(n))
		}
	case "sum":
		sum := ref.Val(nil)
		for _, x := range elements {
			if sum == nil {
				sum = x
			} else {
				sum = plus(sum, x)
			}
		}
		for i, x := range elements {
			s.set(s.element(list[0], v, i, x), plus(x, minus(to, sum)))
		}
		s.resize(list[0], v, int64(len(elements))+1)
	case "min", "max":
		for i, x := range elements {
			s.set(s.element(list[0], v, i, x), to)
		}
		s.resize(list[0], v, int64(len(elements))-1)
	case "indexOf", "lastIndexOf":
		if s.ast.GetType(list[0].ID()).Kind() != types.ListKind || !isNumber || len(list) < 2 {
			return false
		}
		x := s.eval(list[1], v)
		for i, item := range elements {
			switch {
			case types.Int(i) == n:
				s.set(s.element(list[0], v, i, item), x)
			case item.Equal(x) == types.True:
				s.set(s.element(list[0], v, i, item), differing(x))
			}
		}
		s.resize(list[0], v, int64(n)+1)
	case operators.Index:
		if i, ok := s.eval(list[1], v).(types.Int); ok && i >= 0 && int(i) < len(elements) {
			s.set(s.element(list[0], v, int(i), elements[i]), to)
		} else if ok && int(i) == len(elements) {
			s.assign(list[0], v, types.NewRefValList(types.DefaultTypeAdapter, append(elements, to)))
		}
		if key, ok := s.eval(list[1], v).(types.String); ok {
			if m := treeOf(now); m != nil && m.Kind == tree.Object && treeOf(to) != nil {
				s.assign(list[0], v, types.DefaultTypeAdapter.NativeToValue(m.WithMember(string(key), treeOf(to)).Any()))
			}
		}
	case "split":
		if at := items(to); len(list) > 1 {
			s.assign(list[0], v, joined(at, s.eval(list[1], v)))
		}
	case operators.Add:
		if _, ok := to.(traits.Lister); !ok {
			return false
		}
		s.resize(list[0], v, size(to)-size(s.eval(list[1], v)))
		s.resize(list[1], v, size(to)-size(now))
	case "isSorted":
		if to == types.True {
			s.sort(list[0], v)
		}
		s.resize(list[0], v, 1)
	case "distinct", "sort", "reverse", "flatten", "slice", "@sortByAssociatedKeys":
		if _, ok := to.(traits.Lister); !ok {
			return false
		}
		s.assign(list[0], v, to)
	default:
		return false
	}
	return true
}

// joined returns the string of which split makes a list.
func joined(list []ref.Val, separator ref.Val) ref.Val {
	between, ok := separator.(types.String)
	if !ok {
		return nil
	}
	text := types.String("")
	for i, x := range list {
		part, ok := x.(types.String)
		if !ok {
			return nil
		}
		if i > 0 {
			text += between
		}
		text += part
	}
	return text
}

// sort proposes to sort a list of the object, or the one that a macro goes through.
func (s *run) sort(e ast.Expr, v *env) {
	keys := items(s.eval(e, v))
	for e.Kind() == ast.ComprehensionKind {
		f := foldOf(e)
		if f.kind != foldList || f.pred != nil {
			return
		}
		e = f.over
	}
	at := s.locate(e, v)
	value := s.treeAt(at)
	if value == nil || value.Kind != tree.Array || len(value.Items) != len(keys) {
		return
	}
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if c, ok := keys[i].(traits.Comparer); ok {
			if n, ok := c.Compare(keys[j]).(types.Int); ok {
				return int(n)
			}
		}
		return 0
	})
	list := *value
	list.Items = nil
	for _, i := range order {
		list.Items = append(list.Items, value.Items[i])
	}
	s.propose(at, &list)
}

// mostSize bounds the sizes that are proposed.
const mostSize = 1 << 10

// resize proposes changes after which a string, a list or a map may have a size.
func (s *run) resize(e ast.Expr, v *env, n int64) {
	if n < 0 || n > mostSize || !s.enter() {
		return
	}
	defer s.leave()
	now := s.eval(e, v)
	if text, ok := now.(types.String); ok {
		s.texts(e, v, resizedTexts(string(text), int(n)))
		return
	}
	if bytes, ok := now.(types.Bytes); ok {
		for _, text := range resizedTexts(string(bytes), int(n)) {
			s.assign(e, v, types.Bytes(text))
		}
		return
	}
	if at := s.locate(e, v); at != nil {
		s.resizeAt(at, now, int(n))
		return
	}
	switch e.Kind() {
	case ast.IdentKind:
		if set := v.find(e.AsIdent()).from.set; set != nil {
			for _, fill := range fills(items(now)) {
				set(resized(items(now), int(n), fill))
			}
		}
	case ast.ComprehensionKind:
		switch f := foldOf(e); f.kind {
		case foldBind:
			s.resize(f.yield, s.bound(f, v), n)
		case foldList:
			s.resizeFold(f, v, n)
		}
	case ast.CallKind:
		name, list := args(e)
		switch name {
		case "split":
			for _, fill := range fills(items(now)) {
				s.assign(e, v, resized(items(now), int(n), fill))
			}
		case operators.Add:
			a, b := size(s.eval(list[0], v)), size(s.eval(list[1], v))
			s.resize(list[0], v, n-b)
			s.resize(list[1], v, n-a)
		case operators.Conditional:
			s.resize(list[map[bool]int{true: 1, false: 2}[s.eval(list[0], v) == types.True]], v, n)
		default:
			if len(list) > 0 && size(s.eval(list[0], v)) >= 0 {
				s.resize(list[0], v, n)
				s.resize(list[0], v, size(s.eval(list[0], v))+n-size(now))
			}
		}
	}
}

// resized returns a list of a size, with further elements if necessary.
func resized(list []ref.Val, n int, fill ref.Val) ref.Val {
	list = slices.Clone(list[:min(n, len(list))])
	for len(list) < n {
		list = append(list, fill)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, list)
}

// fills returns further elements for a list of strings.
func fills(list []ref.Val) []ref.Val {
	more := []ref.Val{types.String("a"), types.String("0")}
	if len(list) > 0 {
		more = append(more, list[0], list[len(list)-1])
	}
	return more
}

// resizeFold is resize for the list of a macro.
func (s *run) resizeFold(f *fold, v *env, n int64) {
	yielding := s.yielding(f, v)
	more := n > int64(len(yielding))
	inside := s.iterations(f, v)
	if f.pred != nil {
		for _, in := range inside {
			if holds := s.eval(f.pred, in) == types.True; holds != more {
				s.want(f.pred, in, more)
				if !more {
					s.drop(s.locate(f.over, v), in, f)
				}
			}
		}
	}
	if f.pred == nil || more {
		s.resize(f.over, v, int64(len(inside))+n-int64(len(yielding)))
	}
}

// resizeAt proposes a list or a map of the object with a size.
func (s *run) resizeAt(at *place, now ref.Val, n int) {
	value := s.treeAt(at)
	if _, isMap := now.(traits.Mapper); isMap && value != nil {
		next := value.Clone()
		for i := len(next.Items) - 1; i >= n; i-- {
			next.Items = slices.Delete(next.Items, i, i+1)
		}
		for i := 0; len(next.Items) < n && i < mostSize; i++ {
			name := "key" + string(rune('a'+i%26)) + string(rune('a'+i/26%26))
			if next.Get(name) == nil {
				member := s.generator.ValueAt(s.random, at.path.With(tree.Name(name)))
				next = next.WithMember(name, member)
			}
		}
		s.propose(at, next)
		return
	}
	if value == nil || value.Kind != tree.Array {
		if value == nil && now == nil || types.IsUnknownOrError(now) {
			value = sample.EmptyList()
		} else {
			return
		}
	}
	if n < len(value.Items) {
		for _, from := range []int{0, s.random.IntN(n + 1), n} {
			list := *value
			list.Items = slices.Delete(slices.Clone(value.Items), from, from+len(value.Items)-n)
			s.propose(at, &list)
		}
		return
	}
	for range 3 { // different elements
		list := *value
		list.Items = slices.Clone(value.Items)
		for len(list.Items) < n {
			list.Items = append(list.Items, s.generator.ValueAt(s.random, at.path.With(tree.At(len(list.Items)))))
		}
		s.propose(at, &list)
	}
	if len(value.Items) > 0 {
		list := *value
		list.Items = slices.Clone(value.Items)
		for len(list.Items) < n {
			list.Items = append(list.Items, value.Items[s.random.IntN(len(value.Items))].Clone())
		}
		s.propose(at, &list)
	}
}
