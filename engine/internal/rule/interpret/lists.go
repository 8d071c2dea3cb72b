package interpret

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// baseList is the type of cel-go's own lists. Concatenations of them access their parts, and lists of an object their
// schema.
var baseList = reflect.TypeOf(types.NewRefValList(types.DefaultTypeAdapter, nil))

// pollList makes a long list that a call returned poll on accesses.
func (e *Evaluation) pollList(v ref.Val) ref.Val {
	list, ok := v.(traits.Lister)
	if !ok || sizeOf(list) < longList || reflect.TypeOf(v) != baseList {
		return v
	}
	return &polledList{Lister: list, e: e}
}

// polledList is one of cel-go's lists that polls on each access. It behaves as baseList (common/types/list.go).
type polledList struct {
	traits.Lister
	e *Evaluation
}

func (l *polledList) Get(index ref.Val) ref.Val {
	l.e.poll()
	return l.Lister.Get(index)
}

func (l *polledList) Iterator() traits.Iterator {
	return &listIterator{list: l, n: l.Size().(types.Int)}
}

func (l *polledList) Contains(elem ref.Val) ref.Val {
	for i := range l.Size().(types.Int) {
		if elem.Equal(l.Get(i)) == types.True {
			return types.True
		}
	}
	return types.False
}

func (l *polledList) Equal(other ref.Val) ref.Val {
	if equal := equalLists(l, other); equal == types.False {
		return types.False
	}
	return types.True
}

func (l *polledList) Add(other ref.Val) ref.Val { return concatenate(l, other, l.e) }

func (l *polledList) IsZeroValue() bool { return l.Size() == types.IntZero }

func (l *polledList) String() string { return fmt.Sprint(l.Lister) }

// equalLists compares element by element. It returns false, or else the first error, or else true.
func equalLists(l traits.Lister, other ref.Val) ref.Val {
	list, ok := other.(traits.Lister)
	if !ok || l.Size() != list.Size() {
		return types.False
	}
	result := ref.Val(types.True)
	for i := range l.Size().(types.Int) {
		equal := types.Equal(l.Get(i), list.Get(i))
		if equal == types.False {
			return equal
		}
		if result == types.True && types.IsUnknownOrError(equal) {
			result = equal
		}
	}
	return result
}

// concatenate returns the list that cel-go makes of two lists.
func concatenate(l traits.Lister, other ref.Val, e *Evaluation) ref.Val {
	list, ok := other.(traits.Lister)
	switch {
	case !ok:
		return types.MaybeNoSuchOverloadErr(other)
	case list.Size() == types.IntZero:
		return l
	}
	return &concatenation{left: l, right: list, e: e, n: types.Int(sizeOf(l) + sizeOf(list))}
}

// concatenation is a list of two, as concatList (common/types/list.go).
type concatenation struct {
	left, right traits.Lister
	e           *Evaluation
	n           types.Int
	value       []any
}

func (c *concatenation) Get(index ref.Val) ref.Val {
	c.e.poll()
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.ValOrErr(index, "%v", err)
	}
	n := types.Int(sizeOf(c.left))
	if types.Int(i) < n {
		return c.left.Get(types.Int(i))
	}
	return c.right.Get(types.Int(i) - n)
}

func (c *concatenation) Contains(elem ref.Val) ref.Val {
	left := c.left.Contains(elem)
	if left == types.True {
		return left
	}
	right := c.right.Contains(elem)
	if right != types.True && types.IsUnknownOrError(left) {
		return left
	}
	return right
}

func (c *concatenation) Equal(other ref.Val) ref.Val { return equalLists(c, other) }

func (c *concatenation) Value() any {
	if c.value == nil {
		c.value = make([]any, c.n)
		for i := range c.n {
			c.value[i] = c.Get(i).Value()
		}
	}
	return c.value
}

func (c *concatenation) ConvertToNative(t reflect.Type) (any, error) {
	return types.NewDynamicList(types.DefaultTypeAdapter, c.Value()).ConvertToNative(t)
}

func (c *concatenation) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.ListType:
		return c
	case types.TypeType:
		return types.ListType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.ListType, t)
}

func (c *concatenation) Type() ref.Type { return types.ListType }

func (c *concatenation) Size() ref.Val { return c.n }

func (c *concatenation) Add(other ref.Val) ref.Val { return concatenate(c, other, c.e) }

func (c *concatenation) Iterator() traits.Iterator { return &listIterator{list: c, n: c.n} }

func (c *concatenation) IsZeroValue() bool { return c.n == 0 }

func (c *concatenation) String() string { return fmt.Sprint(c.Value()) }

// listIterator goes through a list by index.
type listIterator struct {
	types.Null // the rest of ref.Val, which iterators do not use
	list       traits.Lister
	i, n       types.Int
}

func (it *listIterator) HasNext() ref.Val { return types.Bool(it.i < it.n) }

func (it *listIterator) Next() ref.Val {
	if it.i >= it.n {
		return nil
	}
	it.i++
	return it.list.Get(it.i - 1)
}
