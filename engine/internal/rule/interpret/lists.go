package interpret

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// baseList is the type of cel-go's own lists. Concatenations of them access their parts, and lists of an object their
// schema.
var baseList = reflect.TypeOf(types.NewRefValList(types.DefaultTypeAdapter, nil))

// pollList makes a long list that a call returned poll on accesses.
func (e *Evaluation) pollList(v ref.Val) ref.Val {
	list, ok := v.(traits.Lister)
	if !ok || closure.SizeOf(list) < longList || reflect.TypeOf(v) != baseList {
		return v
	}
	return &polledList{Lister: list, e: e}
}

// polledList is one of cel-go's lists, or a concatenation of two, that polls on each access (common/types/list.go).
type polledList struct {
	traits.Lister
	e     *Evaluation
	parts []traits.Lister // of a concatenation
}

func (l *polledList) Get(index ref.Val) ref.Val {
	l.e.poll()
	return l.Lister.Get(index)
}

func (l *polledList) Iterator() traits.Iterator {
	return &listIterator{list: l, n: l.Size().(types.Int)}
}

func (l *polledList) Contains(elem ref.Val) ref.Val {
	if l.parts != nil {
		left := l.parts[0].Contains(elem)
		if left == types.True {
			return left
		}
		if right := l.parts[1].Contains(elem); right == types.True || !types.IsUnknownOrError(left) {
			return right
		}
		return left
	}
	for i := range l.Size().(types.Int) {
		if elem.Equal(l.Get(i)) == types.True {
			return types.True
		}
	}
	return types.False
}

// Equal returns false, or else the first error of a concatenation, or else true.
func (l *polledList) Equal(other ref.Val) ref.Val {
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
		if l.parts != nil && result == types.True && types.IsUnknownOrError(equal) {
			result = equal
		}
	}
	return result
}

func (l *polledList) Add(other ref.Val) ref.Val {
	list, ok := other.(traits.Lister)
	switch {
	case !ok:
		return types.MaybeNoSuchOverloadErr(other)
	case list.Size() == types.IntZero:
		return l
	}
	return &polledConcat{polledList{Lister: l.Lister.Add(other).(traits.Lister), e: l.e, parts: []traits.Lister{l, list}}}
}

// polledConcat is a concatenation, for which cel-go has another type.
type polledConcat struct{ polledList }

// upstreamTypes replaces the names of types in error texts.
var upstreamTypes = strings.NewReplacer("*interpret.polledList", "*types.baseList", "*interpret.polledConcat", "*types.concatList")

// upstreamError returns an error with cel-go's names of types. cel-go prints them with %T.
func upstreamError(err error) error {
	text := err.Error()
	if replaced := upstreamTypes.Replace(text); replaced != text {
		return errors.New(replaced)
	}
	return err
}

func (l *polledList) IsZeroValue() bool { return l.Size() == types.IntZero }

func (l *polledList) String() string { return fmt.Sprint(l.Lister) }

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
