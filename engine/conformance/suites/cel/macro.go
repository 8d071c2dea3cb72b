package cel

import (
	"fmt"

	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// macros are those of the environment, and other syntax. Each generates an expression of a type of its choice. (init
// fills it, because they call each other.)
var macros []macro

type macro struct {
	name string
	make func(g *generator, s *scope, depth int) (*expression, *types.Type)
}

func init() { macros = allMacros(); targets = len(overloads) + len(macros) }

func allMacros() []macro {
	return []macro{
		{"has", func(g *generator, s *scope, depth int) (*expression, *types.Type) { return g.has(s), types.BoolType }},
		{"all", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			return g.fold(s, "all", types.BoolType, depth), types.BoolType
		}},
		{"exists", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			return g.fold(s, "exists", types.BoolType, depth), types.BoolType
		}},
		{"exists_one", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			return g.fold(s, "exists_one", types.BoolType, depth), types.BoolType
		}},
		{"all/2", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			return g.fold2(s, "all", types.BoolType, depth), types.BoolType
		}},
		{"exists/2", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			return g.fold2(s, "exists", types.BoolType, depth), types.BoolType
		}},
		{"existsOne/2", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			return g.fold2(s, generate.Pick(g.r, []string{"existsOne", "exists_one"}), types.BoolType, depth), types.BoolType
		}},
		{"map", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			t := s.someType(g)
			return g.fold(s, "map", t, depth), types.NewListType(t)
		}},
		{"map/3", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			t := s.someType(g)
			return g.mapIf(s, t, depth), types.NewListType(t)
		}},
		{"filter", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			over, elem := g.list1(s, nil, depth)
			return g.over(s, over, "filter", types.BoolType, elem, depth), types.NewListType(elem)
		}},
		{"optMap", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			t := s.someType(g)
			return g.optMap(s, "optMap", t, depth), types.NewOptionalType(t)
		}},
		{"optFlatMap", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			t := s.someType(g)
			return g.optMap(s, "optFlatMap", types.NewOptionalType(t), depth), types.NewOptionalType(t)
		}},
		{"transformList", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			t := s.someType(g)
			return g.transform(s, "transformList", t, depth), types.NewListType(t)
		}},
		{"transformMap", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			e, key, value := g.transformMap(s, depth)
			return e, types.NewMapType(key, value)
		}},
		{"transformMapEntry", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			value := s.someType(g)
			return g.transformEntry(s, value, depth), types.NewMapType(types.StringType, value)
		}},
		{"sortBy", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			over, elem := g.list1(s, nil, depth)
			return g.over(s, over, "sortBy", generate.Pick(g.r, []*types.Type{types.IntType, types.StringType, types.DoubleType, types.BoolType, types.DurationType, types.TimestampType, types.BytesType, types.UintType}), elem, depth), types.NewListType(elem)
		}},
		{"select?", func(g *generator, s *scope, depth int) (*expression, *types.Type) { return g.optionalSelect(s) }},
		{"index?", func(g *generator, s *scope, depth int) (*expression, *types.Type) {
			over, elem := g.list1(s, nil, depth)
			return joined(true, "$[?$]", over.tight(), g.typed(s, types.IntType, depth-2)), types.NewOptionalType(elem)
		}},
	}
}

// macro generates a macro that returns type t, or nil if no macro fits.
func (g *generator) macro(s *scope, t *types.Type, depth int) *expression {
	switch {
	case t.Kind() == types.BoolKind:
		e, _ := macros[g.r.IntN(7)].make(g, s, depth)
		return e
	case t.Kind() == types.ListKind:
		elem := t.Parameters()[0]
		switch g.r.IntN(5) {
		case 0:
			return g.fold(s, "map", elem, depth)
		case 1:
			return g.mapIf(s, elem, depth)
		case 2:
			return g.transform(s, "transformList", elem, depth)
		case 3:
			over, elem := g.list1(s, elem, depth)
			return g.over(s, over, "sortBy", generate.Pick(g.r, []*types.Type{types.IntType, types.StringType}), elem, depth)
		}
		over, elem := g.list1(s, elem, depth)
		return g.over(s, over, "filter", types.BoolType, elem, depth)
	case t.Kind() == types.MapKind && t.Parameters()[0].Kind() == types.StringKind:
		return g.transformEntry(s, t.Parameters()[1], depth)
	case isOptional(t):
		if g.r.Chance(50) {
			return g.optMap(s, "optFlatMap", t, depth)
		}
		return g.optMap(s, "optMap", t.Parameters()[0], depth)
	}
	return nil
}

// fresh returns the name of a macro's variable: mostly a new one, rarely one that hides another.
func (g *generator) fresh() string {
	g.bound++
	if g.r.Chance(6) {
		return generate.Pick(g.r, []string{"self", "oldSelf", "x", "v", "int"})
	}
	return fmt.Sprintf("v%d", g.bound)
}

// list1 generates a list of a given element type or of any.
func (g *generator) list1(s *scope, elem *types.Type, depth int) (*expression, *types.Type) {
	if elem == nil {
		var lists []route
		for _, at := range s.routes(g, 3) {
			if at.t.Kind() == types.ListKind {
				lists = append(lists, at)
			}
		}
		if len(lists) > 0 && g.r.Chance(70) {
			at := generate.Pick(g.r, lists)
			return at.e, at.t.Parameters()[0]
		}
		elem = s.someType(g)
	}
	return g.typed(s, types.NewListType(elem), depth-1), elem
}

// ranged generates something to iterate over: a list, or a map, whose keys macros with one variable use.
func (g *generator) ranged(s *scope, depth int) (over *expression, key, value *types.Type) {
	if g.r.Chance(30) {
		var maps []route
		for _, at := range s.routes(g, 3) {
			if at.t.Kind() == types.MapKind {
				maps = append(maps, at)
			}
		}
		if len(maps) > 0 {
			at := generate.Pick(g.r, maps)
			return at.e, at.t.Parameters()[0], at.t.Parameters()[1]
		}
		if g.r.Chance(40) { // one entry: no order
			return joined(true, "{$: $}", g.literal(types.StringType, 0), g.literal(types.IntType, 0)), types.StringType, types.IntType
		}
	}
	over, elem := g.list1(s, nil, depth)
	return over, types.IntType, elem
}

func (g *generator) fold(s *scope, name string, result *types.Type, depth int) *expression {
	over, key, value := g.ranged(s, depth)
	if key.Kind() != types.IntKind {
		return g.over(s, over, name, result, key, depth)
	}
	return g.over(s, over, name, result, value, depth)
}

// over returns range.name(v, body).
func (g *generator) over(s *scope, over *expression, name string, result, elem *types.Type, depth int) *expression {
	v := g.fresh()
	return joined(true, "$."+name+"("+v+", $)", over.tight(), g.typed(s.with(v, elem), result, depth-2))
}

func (g *generator) fold2(s *scope, name string, result *types.Type, depth int) *expression {
	over, key, value := g.ranged(s, depth)
	k, v := g.fresh(), g.fresh()
	return joined(true, "$."+name+"("+k+", "+v+", $)", over.tight(), g.typed(s.with(k, key).with(v, value), result, depth-2))
}

func (g *generator) mapIf(s *scope, result *types.Type, depth int) *expression {
	over, elem := g.list1(s, nil, depth)
	v := g.fresh()
	in := s.with(v, elem)
	return joined(true, "$.map("+v+", $, $)", over.tight(), g.typed(in, types.BoolType, depth-2), g.typed(in, result, depth-2))
}

// transform returns transformList, with or without a filter.
func (g *generator) transform(s *scope, name string, result *types.Type, depth int) *expression {
	over, key, value := g.ranged(s, depth)
	k, v := g.fresh(), g.fresh()
	in := s.with(k, key).with(v, value)
	if g.r.Chance(40) {
		return joined(true, "$."+name+"("+k+", "+v+", $, $)", over.tight(), g.typed(in, types.BoolType, depth-2), g.typed(in, result, depth-2))
	}
	return joined(true, "$."+name+"("+k+", "+v+", $)", over.tight(), g.typed(in, result, depth-2))
}

func (g *generator) transformMap(s *scope, depth int) (*expression, *types.Type, *types.Type) {
	over, key, value := g.ranged(s, depth)
	k, v := g.fresh(), g.fresh()
	in := s.with(k, key).with(v, value)
	result := s.someType(g)
	if g.r.Chance(40) {
		return joined(true, "$.transformMap("+k+", "+v+", $, $)", over.tight(), g.typed(in, types.BoolType, depth-2), g.typed(in, result, depth-2)), key, result
	}
	return joined(true, "$.transformMap("+k+", "+v+", $)", over.tight(), g.typed(in, result, depth-2)), key, result
}

func (g *generator) transformEntry(s *scope, value *types.Type, depth int) *expression {
	over, key, elem := g.ranged(s, depth)
	k, v := g.fresh(), g.fresh()
	in := s.with(k, key).with(v, elem)
	entry := joined(true, "{$: $}", g.typed(in, types.StringType, depth-3), g.typed(in, value, depth-3))
	if g.r.Chance(70) && k != v { // distinct keys
		entry = joined(true, "{string("+k+"): $}", g.typed(in, value, depth-3))
	}
	if g.r.Chance(40) {
		return joined(true, "$.transformMapEntry("+k+", "+v+", $, $)", over.tight(), g.typed(in, types.BoolType, depth-2), entry)
	}
	return joined(true, "$.transformMapEntry("+k+", "+v+", $)", over.tight(), entry)
}

// optMap returns optMap and optFlatMap.
func (g *generator) optMap(s *scope, name string, result *types.Type, depth int) *expression {
	over, inner := g.optional(s, depth)
	v := g.fresh()
	return joined(true, "$."+name+"("+v+", $)", over.tight(), g.typed(s.with(v, inner), result, depth-2))
}

func (g *generator) optional(s *scope, depth int) (*expression, *types.Type) {
	if g.r.Chance(60) {
		if e, t := g.optionalSelect(s); isOptional(t) {
			return e, t.Parameters()[0]
		}
	}
	inner := s.someType(g)
	return g.typed(s, types.NewOptionalType(inner), depth-2), inner
}

// paths are the fields that has() accepts.
func (g *generator) paths(s *scope) (found []route) {
	for _, at := range s.routes(g, 4) {
		if at.path {
			found = append(found, at)
		}
	}
	return found
}

// has returns has(path), or a test of a map's key.
func (g *generator) has(s *scope) *expression {
	if found := g.paths(s); len(found) > 0 && g.r.Chance(90) {
		return joined(true, "has($)", generate.Pick(g.r, found).e)
	}
	for _, at := range s.routes(g, 3) {
		if at.t.Kind() == types.MapKind && at.t.Parameters()[0].Kind() == types.StringKind {
			return joined(true, "has($."+generate.Pick(g.r, []string{"a", "b", "zz"})+")", at.e)
		}
	}
	return joined(true, "has({'a': 1}."+generate.Pick(g.r, []string{"a", "b"})+")")
}

// optionalSelect makes the last step of a path optional, and sometimes adds steps.
func (g *generator) optionalSelect(s *scope) (*expression, *types.Type) {
	var objects []route
	for _, at := range s.routes(g, 3) {
		if order, _ := s.members(at.t); len(order) > 0 {
			objects = append(objects, at)
		}
	}
	if len(objects) == 0 {
		return joined(true, "{'a': 1}.?"+generate.Pick(g.r, []string{"a", "b"})), types.NewOptionalType(types.IntType)
	}
	at := generate.Pick(g.r, objects)
	e, t := at.e, at.t
	for {
		order, fields := s.members(t)
		name := generate.Pick(g.r, order)
		e, t = joined(true, "$.?"+name, e), fields[name].Type.CelType()
		if next, _ := s.members(t); len(next) == 0 || g.r.Chance(50) {
			return e, types.NewOptionalType(t)
		}
		if g.r.Chance(40) { // a plain step after an optional one is also optional
			order, fields = s.members(t)
			name = generate.Pick(g.r, order)
			return joined(true, "$."+name, e), types.NewOptionalType(fields[name].Type.CelType())
		}
	}
}
