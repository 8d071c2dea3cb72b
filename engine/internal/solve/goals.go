package solve

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// want proposes changes after which a boolean expression may have a value.
func (s *run) want(e ast.Expr, v *env, want bool) {
	if !s.enter() {
		return
	}
	defer s.leave()
	now := s.eval(e, v)
	if now == types.Bool(want) {
		return
	}
	if types.IsUnknownOrError(now) {
		s.defined(e, v)
	}
	switch e.Kind() {
	case ast.SelectKind:
		if sel := e.AsSelect(); sel.IsTestOnly() {
			s.present(s.member(sel.Operand(), v, sel.FieldName()), want)
			return
		}
	case ast.ComprehensionKind:
		s.wantFold(foldOf(e), v, want)
		return
	case ast.CallKind:
		s.wantCall(e, v, want)
		return
	}
	s.assign(e, v, types.Bool(want))
	s.anything(e, v)
}

// wantCall is want for a call.
func (s *run) wantCall(e ast.Expr, v *env, want bool) {
	name, list := args(e)
	switch name {
	case operators.LogicalNot:
		s.want(list[0], v, !want)
		return
	case operators.LogicalAnd, operators.LogicalOr:
		s.want(list[0], v, want)
		s.want(list[1], v, want)
		return
	case operators.Conditional:
		holds := s.eval(list[0], v) == types.True
		s.want(list[0], v, !holds)
		if !holds {
			s.want(list[2], v, want)
		} else {
			s.want(list[1], v, want)
		}
		return
	case "hasValue":
		s.present(s.locate(list[0], v), want)
		if call := list[0]; call.Kind() == ast.CallKind {
			if function, operands := args(call); function == "validate" {
				s.texts(operands[1], v, s.formatTexts(operands[1], v))
			}
		}
	case operators.In:
		s.contains(list[0], list[1], v, want)
	case "includes":
		s.contains(list[1], list[0], v, want)
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater,
		operators.GreaterEquals, "isGreaterThan", "isLessThan":
		s.compare(name, list[0], list[1], v, want)
	default:
		s.wantText(name, list, v, want)
	}
	s.anything(e, v)
}

// present proposes to add or to remove a value.
func (s *run) present(at *place, want bool) {
	switch {
	case at == nil:
	case want:
		for range 3 {
			s.propose(at, s.generator.ValueAt(s.random, at.path))
		}
	default:
		s.propose(at, nil)
	}
}

// defined proposes changes after which an expression may have a value instead of an error.
func (s *run) defined(e ast.Expr, v *env) {
	if !s.enter() {
		return
	}
	defer s.leave()
	switch e.Kind() {
	case ast.SelectKind:
		if !types.IsUnknownOrError(s.eval(e.AsSelect().Operand(), v)) {
			s.present(s.locate(e, v), true)
			return
		}
		s.defined(e.AsSelect().Operand(), v)
	case ast.CallKind:
		name, list := args(e)
		sound := true
		for _, arg := range list {
			if types.IsUnknownOrError(s.eval(arg, v)) {
				sound = false
				s.defined(arg, v)
			}
		}
		switch {
		case !sound:
		case name == operators.Index:
			s.present(s.locate(e, v), true)
			if i, ok := s.eval(list[1], v).(types.Int); ok && i >= 0 {
				s.resize(list[0], v, int64(i)+1)
			}
		case conversions[name] && len(list) > 0:
			s.texts(list[0], v, s.syntaxes(name))
		default:
			s.anything(e, v)
		}
	case ast.ComprehensionKind:
		f := foldOf(e)
		if f.kind == foldBind {
			s.defined(f.yield, s.bound(f, v))
			return
		}
		if types.IsUnknownOrError(s.eval(f.over, v)) {
			s.defined(f.over, v)
			return
		}
		for _, in := range s.iterations(f, v) {
			for _, part := range []ast.Expr{f.pred, f.yield} {
				if part != nil && types.IsUnknownOrError(s.eval(part, in)) {
					s.defined(part, in)
				}
			}
		}
	}
}

// wantFold is want for a macro.
func (s *run) wantFold(f *fold, v *env, want bool) {
	switch f.kind {
	case foldBind:
		s.want(f.yield, s.bound(f, v), want)
		return
	case foldOther, foldList:
		return
	}
	inside := s.iterations(f, v)
	holding := 0
	for _, in := range inside {
		if s.eval(f.pred, in) == types.True {
			holding++
		}
	}
	toWant := want
	if f.kind == foldOne { // more of them, or fewer
		toWant = want && holding == 0 || !want && len(inside) > 0 && holding == 1 && s.random.IntN(2) == 0
	}
	at := s.locate(f.over, v)
	for _, in := range inside {
		if s.eval(f.pred, in) != types.Bool(toWant) {
			s.want(f.pred, in, toWant)
			s.drop(at, in, f)
		}
	}
	if (f.kind != foldAll) == want { // another element may do
		s.resize(f.over, v, int64(len(inside))+1)
	}
}

// drop proposes to remove the element of an iteration.
func (s *run) drop(at *place, in *env, f *fold) {
	if at == nil {
		return
	}
	if element := in.from.place; element != nil {
		s.propose(element, nil)
	} else if key, ok := in.find(f.IterVar()).value.(types.String); ok {
		s.propose(at.at(tree.Name(string(key))), nil)
	}
}

// contains proposes changes after which a list or a map contains an item, or does not.
func (s *run) contains(item, of ast.Expr, v *env, want bool) {
	x, in := s.eval(item, v), s.eval(of, v)
	at := s.locate(of, v)
	switch in := in.(type) {
	case traits.Lister:
		n, _ := in.Size().(types.Int)
		for i := types.Int(0); i < min(n, mostIterations); i++ {
			switch from := s.element(of, v, int(i), in.Get(i)); {
			case want:
				s.assign(item, v, in.Get(i))
				s.set(from, x)
			case in.Get(i).Equal(x) == types.True:
				s.propose(from.place, nil)
				s.set(from, differing(x))
			}
		}
		if now := s.treeAt(at); want && now != nil {
			if element := treeOf(x); element != nil {
				s.propose(at, now.WithItem(element))
			}
		}
		if want && at != nil && s.treeAt(at) == nil {
			if element := treeOf(x); element != nil {
				s.propose(at.at(tree.At(0)), element)
			}
		}
	case traits.Mapper:
		if key, ok := x.(types.String); ok && at != nil {
			s.present(at.at(tree.Name(string(key))), want)
		}
		for it := in.Iterator(); want && it.HasNext() == types.True; {
			key := it.Next()
			s.assign(item, v, key)
			if k, ok := key.(types.String); ok {
				s.rename(at, string(k), x)
			}
		}
	}
	if !want {
		s.assign(item, v, differing(x))
	}
}

// treeAt returns the value at a place, or nil.
func (s *run) treeAt(at *place) *sample.Tree {
	if at == nil {
		return nil
	}
	return s.object.tree.Follow(at.path)
}
