package solve

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// foldKind is the kind of a macro.
type foldKind uint8

const (
	foldOther  foldKind = iota
	foldAll             // pred holds for all elements
	foldExists          // pred holds for an element
	foldOne             // pred holds for one element
	foldList            // the list of yield for the elements for which pred holds
	foldBind            // yield, with a variable
)

// fold is a macro, as it was expanded.
type fold struct {
	kind        foldKind
	over        ast.Expr // what it goes through; the value of the variable of foldBind
	pred, yield ast.Expr // pred may be nil
	ast.ComprehensionExpr
}

// foldOf recognizes the expansion of a macro.
func foldOf(e ast.Expr) *fold {
	c := e.AsComprehension()
	f := &fold{over: unordered(c.IterRange()), ComprehensionExpr: c}
	step := c.LoopStep()
	if c.IterRange().Kind() == ast.ListKind && len(c.IterRange().AsList().Elements()) == 0 {
		f.kind, f.over, f.yield = foldBind, c.AccuInit(), c.Result()
		return f
	}
	if step.Kind() != ast.CallKind {
		return f
	}
	name, list := args(step)
	switch name {
	case operators.LogicalAnd:
		f.kind, f.pred = foldAll, list[1]
	case operators.LogicalOr:
		f.kind, f.pred = foldExists, list[1]
	case operators.Conditional:
		f.pred = list[0]
		if literal(c.AccuInit()) == types.IntZero {
			f.kind = foldOne
			return f
		}
		if list[1].Kind() != ast.CallKind {
			return f
		}
		name, list = args(list[1])
		fallthrough
	case operators.Add:
		if name == operators.Add && list[1].Kind() == ast.ListKind && len(list[1].AsList().Elements()) == 1 {
			f.kind, f.yield = foldList, list[1].AsList().Elements()[0]
		}
	}
	return f
}

// unordered returns the range of a comprehension without the call that orders it.
func unordered(e ast.Expr) ast.Expr {
	if e.Kind() == ast.CallKind {
		if name, list := args(e); name[0] == '@' && len(list) == 1 {
			return list[0]
		}
	}
	return e
}

// mostIterations bounds the elements of a macro that are looked at.
const mostIterations = 48

// iterations returns the environments of the elements that a macro goes through, or nil if its range has no value.
func (s *run) iterations(f *fold, v *env) (list []*env) {
	over := s.eval(f.IterRange(), v)
	switch over := over.(type) {
	case traits.Lister:
		n, _ := over.Size().(types.Int)
		for i := types.Int(0); i < min(n, mostIterations); i++ {
			item := over.Get(i)
			from := s.element(f.over, v, int(i), item)
			if f.HasIterVar2() {
				list = append(list, v.with(f.IterVar(), i, source{}).with(f.IterVar2(), item, from))
			} else {
				list = append(list, v.with(f.IterVar(), item, from))
			}
		}
	case traits.Mapper:
		at := s.locate(f.over, v)
		for it := over.Iterator(); it.HasNext() == types.True && len(list) < mostIterations; {
			key, ok := it.Next().(types.String)
			if !ok {
				continue
			}
			inner := v.with(f.IterVar(), key, source{set: func(to ref.Val) { s.rename(at, string(key), to) }})
			if f.HasIterVar2() {
				item, _ := over.Find(key)
				var from source
				if at != nil {
					from.place = at.at(tree.Name(string(key)))
				}
				inner = inner.with(f.IterVar2(), item, from)
			}
			list = append(list, inner)
		}
	}
	return list
}

// bound returns the environment of the result of foldBind.
func (s *run) bound(f *fold, v *env) *env {
	from := source{place: s.locate(f.over, v), set: func(to ref.Val) { s.assign(f.over, v, to) }}
	return v.with(f.AccuVar(), s.eval(f.over, v), from)
}

// rename proposes another name of a member of a map.
func (s *run) rename(at *place, key string, to ref.Val) {
	name, ok := to.(types.String)
	if at == nil || !ok {
		return
	}
	if now := s.object.tree.Follow(at.path); now != nil && now.Kind == tree.Object {
		s.propose(at, now.WithKey(key, string(name)))
	}
}
