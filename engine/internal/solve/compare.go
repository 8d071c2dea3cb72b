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

// signs are the signs of a - b with which a comparison holds.
var signs = map[string][]int{
	operators.Equals: {0}, operators.NotEquals: {1, -1}, operators.Less: {-1}, operators.LessEquals: {0, -1},
	operators.Greater: {1}, operators.GreaterEquals: {0, 1}, "isGreaterThan": {1}, "isLessThan": {-1},
}

// compare proposes changes after which a comparison may hold, or not.
func (s *run) compare(name string, a, b ast.Expr, v *env, want bool) {
	x, y := s.eval(a, v), s.eval(b, v)
	for _, sign := range []int{0, 1, -1} {
		if slices.Contains(signs[name], sign) != want {
			continue
		}
		for _, to := range nextTo(y, sign) {
			s.assign(a, v, to)
		}
		for _, to := range nextTo(x, -sign) {
			s.assign(b, v, to)
		}
	}
	for _, side := range []ast.Expr{a, b} { // a boolean that is compared with a boolean
		if now, ok := s.eval(side, v).(types.Bool); ok && side.Kind() != ast.IdentKind {
			s.want(side, v, !bool(now))
		}
		if s.eval(side, v).Type() == types.TypeType && side.Kind() == ast.CallKind {
			if _, list := args(side); len(list) == 1 {
				s.ofType(list[0], v)
			}
		}
	}
	if name == operators.NotEquals == want { // lists, maps and texts
		for _, side := range []ast.Expr{a, b} {
			if text, ok := s.eval(side, v).(types.String); ok {
				s.texts(side, v, []string{string(text) + "a", "a"})
			}
			if n := size(s.eval(side, v)); n >= 0 {
				s.resize(side, v, n+1)
			}
		}
	}
}

// ofType proposes values of several types.
func (s *run) ofType(e ast.Expr, v *env) {
	for _, to := range []ref.Val{types.Int(1), types.String("1"), types.String("a"), types.True} {
		s.assign(e, v, to)
	}
}

// mostExtra bounds the changes of one field that do not follow from a rule.
const mostExtra = 12

// anything proposes changes of the fields that an expression reads: other values that the schema allows, values in the
// syntaxes of the functions that read them, and values of other fields.
func (s *run) anything(e ast.Expr, v *env) {
	var places []*place
	s.reads(e, v, &places)
	for _, at := range places {
		var list proposals
		now := s.treeAt(at)
		if now != nil {
			if text, ok := now.Content(); ok {
				for _, t := range slices.Concat(kin(text), s.syntaxes("")) {
					list.add(at.path, sample.Text(t))
				}
				for _, word := range s.program.texts {
					for _, t := range slices.Concat(kin(word), withPartIn("contains", text, word)) {
						list.add(at.path, sample.Text(t))
					}
				}
			}
			if now.Kind == tree.Array {
				list.add(at.path, distinct(now))
			}
		}
		for _, other := range places {
			if t := s.treeAt(other); t != nil && other != at {
				list.add(at.path, t)
			}
		}
		for _, t := range s.generator.Suggestions(s.random, at.path) {
			list.add(at.path, t)
		}
		for _, c := range list.some(s.random, mostExtra) {
			s.extra.add(c.Path, c.Value)
		}
	}
}

// distinct returns a list without equal elements.
func distinct(list *sample.Tree) *sample.Tree {
	next, seen := *list, map[string]bool{}
	next.Items = slices.DeleteFunc(slices.Clone(list.Items), func(t *sample.Tree) bool {
		text := string(t.JSON())
		again := seen[text]
		seen[text] = true
		return again
	})
	return &next
}

// reads collects the places that an expression reads.
func (s *run) reads(e ast.Expr, v *env, found *[]*place) {
	if len(*found) > 16 || !s.enter() {
		return
	}
	defer s.leave()
	if at := s.locate(e, v); at != nil {
		if len(at.path) > 0 {
			*found = append(*found, at)
		}
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		s.reads(e.AsSelect().Operand(), v, found)
	case ast.CallKind:
		_, list := args(e)
		for _, arg := range list {
			s.reads(arg, v, found)
		}
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			s.reads(x, v, found)
		}
	case ast.ComprehensionKind:
		f := foldOf(e)
		if f.kind == foldBind {
			s.reads(f.yield, s.bound(f, v), found)
			return
		}
		s.reads(f.over, v, found)
		for _, in := range s.iterations(f, v) {
			for _, part := range []ast.Expr{f.pred, f.yield} {
				if part != nil {
					s.reads(part, in, found)
				}
			}
		}
	}
}

// treeOf returns a value as JSON, or nil.
func treeOf(v ref.Val) *sample.Tree {
	if v == nil || types.IsUnknownOrError(v) {
		return nil
	}
	switch v := v.(type) {
	case types.Bool, types.Int, types.Uint, types.Double, types.String, types.Null, types.Bytes:
		return sample.Scalar(v.Value())
	case types.Duration:
		return sample.Text(v.String())
	case types.Timestamp:
		return sample.Text(v.Format("2006-01-02T15:04:05.999999999Z07:00"))
	case *types.Optional:
		if v.HasValue() {
			return treeOf(v.GetValue())
		}
		return nil
	case traits.Lister:
		list := sample.EmptyList()
		for _, x := range items(v) {
			t := treeOf(x)
			if t == nil {
				return nil
			}
			list = list.WithItem(t)
		}
		return list
	case traits.Mapper:
		o := sample.EmptyObject()
		for it := v.Iterator(); it.HasNext() == types.True; {
			key, ok := it.Next().(types.String)
			if !ok {
				continue
			}
			item, _ := v.Find(key)
			if t := treeOf(item); t != nil {
				o = o.WithMember(string(key), t)
			}
		}
		return o
	case interface{ String() string }: // quantities, versions, addresses and URLs
		return sample.Text(v.String())
	}
	return nil
}
