package cel

import (
	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// targets is the number of targets of expressions: every overload and every macro.
var targets int

// around returns a condition with the n-th target, so that all targets are equally frequent.
func (g *generator) around(s *scope, n int, depth int) *expression {
	var e *expression
	var t *types.Type
	if n %= targets; n < len(overloads) {
		o := &overloads[n]
		b := bindings{}
		arguments := g.arguments(s, o, b, depth-1)
		e, t = spell(o, arguments), b.apply(o.result, func() *types.Type { return s.someType(g) })
	} else {
		e, t = macros[n-len(overloads)].make(g, s, depth-1)
	}
	e = g.condition(s, e, t, 3)
	switch g.r.IntN(4) {
	case 0:
		return g.orders(s, e, depth-2)
	case 1:
		return g.inside(s, e)
	}
	return e
}

// condition turns a value into a condition: the value itself, a comparison, or a call.
func (g *generator) condition(s *scope, e *expression, t *types.Type, steps int) *expression {
	if t.Kind() == types.BoolKind {
		if g.r.Chance(15) {
			return infix(e, generate.Pick(g.r, []string{"==", "!=", "<", ">="}), g.typed(s, types.BoolType, 1))
		}
		return e
	}
	if steps > 0 && g.r.Chance(60) {
		start := g.r.IntN(len(overloads))
		for i := range overloads {
			o := &overloads[(start+i)%len(overloads)]
			for p, a := range o.arguments {
				b := bindings{}
				if a.Kind() == types.TypeParamKind && !g.r.Chance(5) || !b.match(a, t) {
					continue
				}
				arguments := make([]*expression, len(o.arguments))
				for q := range arguments {
					if q == p {
						arguments[q] = e
					} else {
						arguments[q] = g.argument(s, o, q, b.apply(o.arguments[q], func() *types.Type { return s.someType(g) }), 1)
					}
				}
				return g.condition(s, spell(o, arguments), b.apply(o.result, func() *types.Type { return s.someType(g) }), steps-1)
			}
		}
	}
	switch g.r.IntN(5) {
	case 0:
		if t.Kind() == types.ListKind || t.Kind() == types.MapKind || t.Kind() == types.StringKind {
			return infix(call("size", e), ">", g.literal(types.IntType, 0))
		}
	case 1:
		return infix(e, "in", g.list(t, 2, func(g *generator, t *types.Type, d int) *expression { return g.typed(s, t, d) }))
	}
	return infix(e, generate.Pick(g.r, []string{"==", "==", "!="}), g.typed(s, t, 1))
}

// orders combines a condition with others, one of which can fail, with && || and ?:, in all orders.
func (g *generator) orders(s *scope, e *expression, depth int) *expression {
	other := func() *expression {
		switch g.r.IntN(4) {
		case 0:
			return g.failing(types.BoolType).tight()
		case 1:
			return text(generate.Pick(g.r, []string{"true", "false"}))
		case 2:
			return joined(true, "dyn($)", g.leaf(s, s.someType(g), 0))
		}
		return g.typed(s, types.BoolType, depth).tight()
	}
	e = e.tight()
	switch g.r.IntN(9) {
	case 0:
		return joined(false, "$ && $", e, other())
	case 1:
		return joined(false, "$ && $", other(), e)
	case 2:
		return joined(false, "$ || $", e, other())
	case 3:
		return joined(false, "$ || $", other(), e)
	case 4:
		return joined(false, "$ ? $ : $", e, other(), other())
	case 5:
		return joined(false, "$ ? $ : $", other(), e, other())
	case 6:
		return joined(false, "$ ? $ : $", other(), other(), e)
	case 7:
		return joined(false, "$ && $ && $ || $", other(), e, other(), other())
	}
	return joined(false, "$ || $ || $ && $", other(), e, other(), other())
}

// inside puts a condition into the body of a loop, which does not use the loop's variable.
func (g *generator) inside(s *scope, e *expression) *expression {
	over, _, _ := g.ranged(s, 2)
	return joined(true, "$."+generate.Pick(g.r, []string{"all", "exists", "exists_one", "map", "filter"}[:3])+"(w, $)", over.tight(), e)
}

// failing generates an expression of a type whose evaluation mostly fails.
func (g *generator) failing(t *types.Type) *expression {
	list := func() *expression { return joined(true, "[$]", g.literal(t, 1)) }
	switch g.r.IntN(8) {
	case 0:
		return joined(true, "$["+generate.Pick(g.r, []string{"1", "-1", "9"})+"]", list())
	case 1:
		return joined(true, "{'a': $}[$]", g.literal(t, 1), g.key())
	case 2:
		return joined(true, "$[1 / (self == self ? 0 : 1)]", list())
	case 3:
		return joined(true, "$[9223372036854775807 + $]", list(), text(generate.Pick(g.r, []string{"1", "0"})))
	case 4:
		return joined(true, "$[int($)]", list(), text(quote(generate.Pick(g.r, conversionTexts))))
	case 5:
		return joined(true, "{'a': $}."+generate.Pick(g.r, []string{"b", "a"}), g.literal(t, 1))
	case 6:
		return joined(true, "$[dyn($)]", list(), g.literal(generate.Pick(g.r, simple[:9]), 1))
	}
	return joined(true, "optional.none().orValue(dyn($))", g.failingScalar())
}

// failingScalar divides by zero or overflows.
func (g *generator) failingScalar() *expression {
	return text(generate.Pick(g.r, []string{"1 / 0", "1 % 0", "-9223372036854775807 - 2", "0u - 1u", "1u / 0u", "int(1e300)", "uint(-1)", "duration('x')", "timestamp('x')", "int('x')", "9223372036854775807 * 2"}))
}

// flawed damages a text, so that the parser or the checker rejects it.
func (g *generator) flawed(s *scope, e *expression) *expression {
	switch g.r.IntN(12) {
	case 0:
		return joined(false, "$ == undeclared", e.tight())
	case 1:
		return joined(false, "$ && self.nosuchfield", e.tight())
	case 2:
		return joined(false, "$ +", e.tight())
	case 3:
		return joined(true, "($", e)
	case 4:
		return joined(false, "$ && 1", e.tight())
	case 5:
		return joined(false, "$ == 'a' + 1", e.tight())
	case 6:
		return joined(true, "nosuchfunction($)", e)
	case 7:
		return joined(false, "[1].all(self.x, $)", e)
	case 8:
		return joined(false, "has($)", e)
	case 9:
		return joined(false, "[1, 'a'].size() == 2 && $", e.tight())
	case 10:
		return joined(false, "'a'.matches('[') && $", e.tight())
	}
	return g.typed(s, s.someType(g), 2)
}
