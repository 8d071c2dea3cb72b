package cel

import (
	"fmt"
	"maps"

	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// generator generates expressions.
type generator struct {
	r generate.Rand
	// transition is true if oldSelf can be used.
	transition bool
	// budget is the number of further nodes, after which only leaves are generated.
	budget int
	// bound counts the variables of macros, to name them.
	bound int
}

// rarely is true in n of a thousand cases. Errors are generated rarely at each node, because one error ends most
// expressions.
func (g *generator) rarely(n int) bool { return g.r.IntN(1000) < n }

// typed generates an expression of a type with at most depth nested calls.
func (g *generator) typed(s *scope, t *types.Type, depth int) *expression {
	g.budget--
	if depth <= 0 || g.budget <= 0 {
		return g.leaf(s, t, depth)
	}
	if g.rarely(8) {
		return g.failing(t)
	}
	switch n := g.r.IntN(100); {
	case n < 28:
		return g.leaf(s, t, depth)
	case n < 33:
		return joined(false, "$ ? $ : $", g.typed(s, types.BoolType, depth-1).tight(), g.typed(s, t, depth-1).tight(), g.typed(s, t, depth-1).tight())
	case n < 50:
		if e := g.macro(s, t, depth); e != nil {
			return e
		}
	case n < 58 && t.Kind() == types.ListKind:
		return g.list(t.Parameters()[0], depth, func(g *generator, t *types.Type, d int) *expression { return g.typed(s, t, d) })
	case n < 58 && t.Kind() == types.MapKind:
		return g.mapping(t.Parameters()[0], t.Parameters()[1], depth, func(g *generator, t *types.Type, d int) *expression { return g.typed(s, t, d) })
	case n < 60:
		return joined(true, "$[0]", g.list(t, depth, func(g *generator, t *types.Type, d int) *expression { return g.typed(s, t, d) }))
	}
	if o := g.producing(t); o != nil {
		return g.apply(s, o, t, depth)
	}
	return g.leaf(s, t, depth)
}

// leaf generates a variable, a field or a literal.
func (g *generator) leaf(s *scope, t *types.Type, depth int) *expression {
	if depth > 0 && g.r.Chance(8) {
		if e := g.forked(s, t, depth); e != nil {
			return e
		}
	}
	if g.r.Chance(75) {
		var fit []route
		for _, at := range s.routes(g, 3) {
			if at.t.IsExactType(t) || t.Kind() == types.DynKind && g.r.Chance(30) || at.t.Kind() == types.DynKind && g.r.Chance(8) { // int-or-string has the type dyn
				fit = append(fit, at)
			}
		}
		if len(fit) > 0 {
			return generate.Pick(g.r, fit).e
		}
	}
	if t.Kind() == types.TypeKind && g.r.Chance(50) {
		return call("type", g.leaf(s, s.someType(g), depth-1))
	}
	return g.literal(t, depth)
}

// forked generates an access that starts at one of two containers: (c ? a : b).member.
func (g *generator) forked(s *scope, t *types.Type, depth int) *expression {
	var containers []route
	for _, at := range s.routes(g, 2) {
		if k := at.t.Kind(); k == types.StructKind || k == types.ListKind || k == types.MapKind {
			containers = append(containers, at)
		}
	}
	if len(containers) == 0 {
		return nil
	}
	a := generate.Pick(g.r, containers)
	b := a
	for _, other := range containers {
		if other.t.IsExactType(a.t) && g.r.Chance(60) {
			b = other
		}
	}
	base := generate.Pick(g.r, []*expression{
		joined(true, "($ ? $ : $)", g.typed(s, types.BoolType, depth-2).tight(), a.e, b.e), joined(true, "[$, $][0]", a.e, b.e), joined(true, "{'a': $}.a", a.e), joined(true, "[$].filter(e, true)[0]", a.e)})
	var ways, fit []route
	s.walk(g, route{base, a.t, false}, 2, &ways)
	for _, w := range ways {
		if w.t.IsExactType(t) {
			fit = append(fit, w)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return generate.Pick(g.r, fit).e
}

// producing selects an overload that returns a type. It selects the function first, because there are sixty
// comparisons.
func (g *generator) producing(t *types.Type) *overload {
	start := g.r.IntN(len(functionNames))
	if t.Kind() == types.BoolKind && g.r.Chance(55) {
		name := generate.Pick(g.r, []string{"_&&_", "_||_", "!_", "_==_", "_!=_", "@in", "_<_", "_>=_"})
		return &overloads[generate.Pick(g.r, functionOf[name])]
	}
	for i := range functionNames {
		fit := make([]int, 0, 8)
		for _, o := range functionOf[functionNames[(start+i)%len(functionNames)]] {
			if overloads[o].result.Kind() == types.TypeParamKind && i < 3 && !g.r.Chance(30) {
				continue
			}
			if (bindings{}).match(overloads[o].result, t) {
				fit = append(fit, o)
			}
		}
		if len(fit) > 0 {
			return &overloads[generate.Pick(g.r, fit)]
		}
	}
	return nil
}

// apply calls an overload that returns type t. nil leaves the type open.
func (g *generator) apply(s *scope, o *overload, t *types.Type, depth int) *expression {
	b := bindings{}
	if t != nil {
		b.match(o.result, t)
	}
	return spell(o, g.arguments(s, o, b, depth))
}

// arguments generates the arguments of a call. Half of the containers come from the data: they determine the type
// parameters.
func (g *generator) arguments(s *scope, o *overload, b bindings, depth int) []*expression {
	arguments := make([]*expression, len(o.arguments))
	for i, a := range o.arguments {
		if k := a.Kind(); k != types.ListKind && k != types.MapKind || !g.r.Chance(50) {
			continue
		}
		var fit []route
		for _, at := range s.routes(g, 3) {
			if maps.Clone(b).match(a, at.t) {
				fit = append(fit, at)
			}
		}
		if len(fit) > 0 {
			at := generate.Pick(g.r, fit)
			b.match(a, at.t)
			arguments[i] = at.e
		}
	}
	unbound := func() *types.Type { return s.someType(g) }
	for i, a := range o.arguments {
		if arguments[i] == nil {
			arguments[i] = g.argument(s, o, i, b.apply(a, unbound), depth-1)
		}
	}
	return arguments
}

// argument generates an argument: from the table of texts for it, rarely of a wrong type in dyn(), or as any
// expression.
func (g *generator) argument(s *scope, o *overload, i int, t *types.Type, depth int) *expression {
	if g.rarely(6) {
		return call("dyn", g.typed(s, generate.Pick(g.r, simple), depth-1))
	}
	if table := hints[fmt.Sprintf("%s/%d", o.id, i)]; table != nil && g.r.Chance(70) {
		if g.r.Chance(15) { // a non-constant is checked when it is evaluated
			return infix(text(quote(generate.Pick(g.r, table))), "+", text("''"))
		}
		return text(quote(g.mostlyEarly(table)))
	}
	if t.Kind() == types.DynKind && g.r.Chance(60) { // a parameter of any type
		return g.typed(s, g.collection(s), depth)
	}
	if t.Kind() == types.StringKind && i > 0 && g.r.Chance(50) && o.arguments[0].Kind() == types.TimestampKind {
		return text(quote(g.mostlyEarly(zoneTexts)))
	}
	if opaque(t) {
		return call("dyn", g.leaf(s, s.someType(g), depth))
	}
	if o.id == "string_format" && i == 1 {
		return g.formatArguments(s, depth)
	}
	if t.Kind() == types.ListKind && t.Parameters()[0].Kind() == types.DynKind { // list(dyn) accepts every list
		return g.typed(s, types.NewListType(s.someType(g)), depth)
	}
	return g.typed(s, t, depth)
}

// collection returns the type of a value in scope, in half of the cases a list.
func (g *generator) collection(s *scope) *types.Type {
	for range 4 {
		if t := s.someType(g); t.Kind() == types.ListKind {
			return t
		}
	}
	return s.someType(g)
}

func (g *generator) formatArguments(s *scope, depth int) *expression {
	n := g.r.Between(1, 2)
	e := &expression{pieces: around("[", n, "]"), closed: true}
	t := s.someType(g)
	for range n {
		e.operands = append(e.operands, g.typed(s, t, depth-1))
	}
	return e
}

// operators are functions with their own syntax.
var operators = map[string]string{"!_": "!$", "-_": "-$", "_?_:_": "$ ? $ : $", "_[_]": "$[$]", "_[?_]": "$[?$]", "@in": "$ in $", "_&&_": "$ && $", "_||_": "$ || $"}

func init() {
	for _, op := range []string{"==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"} {
		operators["_"+op+"_"] = "$ " + op + " $"
	}
}

// spell writes a call of an overload.
func spell(o *overload, arguments []*expression) *expression {
	if pattern, ok := operators[o.function]; ok {
		for i := range arguments {
			arguments[i] = arguments[i].tight()
		}
		e := joined(false, pattern, arguments...)
		switch o.function {
		case "_[_]", "_[?_]":
			e.closed = true
		case "-_":
			return joined(false, "-($)", arguments...)
		}
		return e
	}
	if o.member {
		return method(arguments[0], o.function, arguments[1:]...)
	}
	return call(o.function, arguments...)
}
