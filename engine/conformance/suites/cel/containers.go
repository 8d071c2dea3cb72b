package cel

import (
	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// containers returns a condition about a list, a map or an object of the data. Kubernetes implements its own CEL values
// for these, with their own equality, addition and errors. containers returns nil if the scope has no such value.
func (g *generator) containers(s *scope) *expression {
	var found []route
	for _, at := range s.routes(g, 4) {
		if k := at.t.Kind(); k == types.ListKind || k == types.MapKind || k == types.StructKind {
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		return nil
	}
	a := generate.Pick(g.r, found)
	like := []route{a}
	for _, b := range found {
		if b.t.IsExactType(a.t) {
			like = append(like, b)
		}
	}
	b := generate.Pick(g.r, like)
	other := b.e
	if g.r.Chance(35) {
		other = g.rebuilt(s, a)
	}
	if g.r.Chance(15) {
		other = call("dyn", generate.Pick(g.r, found).e)
	}
	equals := generate.Pick(g.r, []string{"==", "!="})
	switch n := g.r.IntN(20); {
	case n < 6:
		if g.r.Chance(50) {
			return infix(other, equals, a.e)
		}
		return infix(a.e, equals, other)
	case n < 9 && a.t.Kind() == types.MapKind:
		return infix(generate.Pick(g.r, []*expression{g.key(), g.typed(s, types.StringType, 1)}), "in", a.e)
	case n < 11 && a.t.Kind() == types.MapKind:
		return infix(joined(true, "$[$]", a.e, g.typed(s, types.StringType, 1)), equals, joined(true, "$[$]", a.e, g.key()))
	case n < 9 && a.t.Kind() == types.ListKind:
		sum := infix(a.e, "+", other)
		switch g.r.IntN(4) {
		case 0:
			return infix(call("size", sum), ">", text("1"))
		case 1:
			return infix(sum, equals, generate.Pick(g.r, like).e)
		case 2:
			return infix(infix(other, "+", a.e), equals, sum)
		}
		return infix(sum, "==", infix(other, "+", a.e))
	case n < 11 && a.t.Kind() == types.ListKind:
		return infix(joined(true, "$[$]", other.tight(), g.index()), "in", a.e)
	case n < 12 && a.t.Kind() == types.ListKind:
		return call(generate.Pick(g.r, []string{"sets.contains", "sets.equivalent", "sets.intersects"}), a.e, other)
	case n < 13:
		return infix(call("dyn", a.e), equals, call("dyn", g.literal(generate.Pick(g.r, simple), 2)))
	case n < 14:
		return infix(call("dyn", g.literal(generate.Pick(g.r, simple), 2)), equals, call("dyn", a.e))
	case n < 15:
		return infix(joined(true, "$[$]", call("dyn", a.e), call("dyn", g.literal(generate.Pick(g.r, simple[:9]), 1))), equals, text("1"))
	case n < 16:
		return infix(call("type", a.e), "==", text(generate.Pick(g.r, []string{"list", "map", "int"})))
	case n < 17:
		return infix(call(generate.Pick(g.r, []string{"string", "int", "bytes", "bool"}), call("dyn", a.e)), equals, text("''"))
	case n < 18:
		return infix(call("dyn", g.literal(generate.Pick(g.r, simple), 1)), "in", call("dyn", a.e))
	case n < 19:
		return infix(call("dyn", a.e), "+", call("dyn", generate.Pick(g.r, found).e)).then(" == []")
	}
	return infix(list(a.e, other), equals, list(other, generate.Pick(g.r, like).e))
}

// then appends text to an operand.
func (e *expression) then(tail string) *expression { return joined(false, "$"+tail, e.tight()) }

func list(elements ...*expression) *expression {
	return &expression{pieces: around("[", len(elements), "]"), operands: elements, closed: true}
}

// rebuilt returns an expression that can equal a value of the data.
func (g *generator) rebuilt(s *scope, a route) *expression {
	switch {
	case a.t.Kind() == types.ListKind && g.r.Chance(60):
		at := func(i string) *expression { return joined(true, "$["+i+"]", a.e) }
		return generate.Pick(g.r, []*expression{list(at("0")), list(at("1"), at("0")), list(at("0"), at("0")), list(at("0"), at("1")), joined(true, "$.filter(e, true)", a.e), joined(true, "$.map(e, e)", a.e)})
	case a.t.Kind() == types.ListKind:
		return g.list(a.t.Parameters()[0], 2, func(g *generator, t *types.Type, d int) *expression { return g.typed(s, t, d) })
	case a.t.Kind() == types.MapKind && g.r.Chance(50):
		return joined(true, "{'a': $['a']}", a.e)
	case a.t.Kind() == types.MapKind:
		return joined(true, "$.transformMap(k, v, v)", a.e)
	}
	return a.e
}
