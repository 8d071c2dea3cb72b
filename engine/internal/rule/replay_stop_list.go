package rule

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// plainList is the type of cel-go's own lists. Concatenations of them look at their parts, and lists of an object at its schema.
var plainList = reflect.TypeOf(types.NewRefValList(types.DefaultTypeAdapter, nil))

// watch makes a long list that a call returned keep watch over who goes through it: nothing else would.
func (s *stopper) watch(v ref.Val) ref.Val {
	list, ok := v.(traits.Lister)
	if !ok || s == nil || size(list) < watchFrom || reflect.TypeOf(v) != plainList {
		return v
	}
	return &watched{Lister: list, s: s}
}

// watched is a list of cel-go's that asks at each access whether to go on. What it answers is what baseList does (common/types/list.go).
type watched struct {
	traits.Lister
	s *stopper
}

// Get implements traits.Indexer.
func (l *watched) Get(index ref.Val) ref.Val {
	l.s.poll()
	return l.Lister.Get(index)
}

// Iterator implements traits.Iterable.
func (l *watched) Iterator() traits.Iterator {
	return &watchedIterator{of: l, n: types.Int(size(l.Lister))}
}

// Contains implements traits.Container.
func (l *watched) Contains(elem ref.Val) ref.Val {
	for i, n := types.IntZero, types.Int(size(l.Lister)); i < n; i++ {
		if elem.Equal(l.Get(i)) == types.True {
			return types.True
		}
	}
	return types.False
}

// Equal implements ref.Val.
func (l *watched) Equal(other ref.Val) ref.Val {
	list, ok := other.(traits.Lister)
	if !ok || l.Size() != list.Size() {
		return types.False
	}
	for i, n := types.IntZero, types.Int(size(l.Lister)); i < n; i++ {
		if types.Equal(l.Get(i), list.Get(i)) == types.False {
			return types.False
		}
	}
	return types.True
}

// Add implements traits.Adder.
func (l *watched) Add(other ref.Val) ref.Val { return concatenation(l, other, l.s) }

// IsZeroValue implements traits.Zeroer.
func (l *watched) IsZeroValue() bool { return l.Size() == types.IntZero }

func (l *watched) String() string { return fmt.Sprint(l.Lister) }

// concatenation is the list of cel-go's that a watched list makes with another, over the watched list.
func concatenation(l traits.Lister, other ref.Val, s *stopper) ref.Val {
	list, ok := other.(traits.Lister)
	switch {
	case !ok:
		return types.MaybeNoSuchOverloadErr(other)
	case list.Size() == types.IntZero:
		return l.(ref.Val)
	}
	return &pair{left: l, right: list, s: s, n: types.Int(size(l) + size(list))}
}

// pair is two lists in one, as concatList (common/types/list.go).
type pair struct {
	left, right traits.Lister
	s           *stopper
	n           types.Int
	value       []any
}

// Get implements traits.Indexer.
func (p *pair) Get(index ref.Val) ref.Val {
	p.s.poll()
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.ValOrErr(index, "%v", err)
	}
	n := types.Int(size(p.left))
	if types.Int(i) < n {
		return p.left.Get(types.Int(i))
	}
	return p.right.Get(types.Int(i) - n)
}

// Contains implements traits.Container.
func (p *pair) Contains(elem ref.Val) ref.Val {
	left := p.left.Contains(elem)
	if left == types.True {
		return left
	}
	right := p.right.Contains(elem)
	if right != types.True && types.IsUnknownOrError(left) {
		return left
	}
	return right
}

// Equal implements ref.Val.
func (p *pair) Equal(other ref.Val) ref.Val {
	list, ok := other.(traits.Lister)
	if !ok || p.Size() != list.Size() {
		return types.False
	}
	var failed ref.Val
	for i := range p.n {
		equal := types.Equal(p.Get(i), list.Get(i))
		if equal == types.False {
			return types.False
		}
		if failed == nil && types.IsUnknownOrError(equal) {
			failed = equal
		}
	}
	if failed != nil {
		return failed
	}
	return types.True
}

// Value implements ref.Val.
func (p *pair) Value() any {
	if p.value == nil {
		p.value = make([]any, p.n)
		for i := range p.n {
			p.value[i] = p.Get(i).Value()
		}
	}
	return p.value
}

// ConvertToNative implements ref.Val.
func (p *pair) ConvertToNative(t reflect.Type) (any, error) {
	return types.NewDynamicList(types.DefaultTypeAdapter, p.Value()).ConvertToNative(t)
}

// ConvertToType implements ref.Val.
func (p *pair) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.ListType:
		return p
	case types.TypeType:
		return types.ListType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.ListType, t)
}

// Type implements ref.Val.
func (p *pair) Type() ref.Type { return types.ListType }

// Size implements traits.Sizer.
func (p *pair) Size() ref.Val { return p.n }

// Add implements traits.Adder.
func (p *pair) Add(other ref.Val) ref.Val { return concatenation(p, other, p.s) }

// Iterator implements traits.Iterable.
func (p *pair) Iterator() traits.Iterator { return &watchedIterator{of: p, n: p.n} }

// IsZeroValue implements traits.Zeroer.
func (p *pair) IsZeroValue() bool { return p.n == 0 }

func (p *pair) String() string { return fmt.Sprint(p.Value()) }

// watchedIterator goes through a list by index.
type watchedIterator struct {
	types.Null // the rest of ref.Val, which nobody asks an iterator for
	of         traits.Lister
	i, n       types.Int
}

// HasNext implements traits.Iterator.
func (it *watchedIterator) HasNext() ref.Val { return types.Bool(it.i < it.n) }

// Next implements traits.Iterator.
func (it *watchedIterator) Next() ref.Val {
	if it.i >= it.n {
		return nil
	}
	it.i++
	return it.of.Get(it.i - 1)
}
