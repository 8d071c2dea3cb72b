package celenv

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	celtypes "github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/format"
)

// Lowest returns the oldest minor whose environment compiles a checked expression, and what the minor before lacks; ""
// for format.OldestMinor. It derives that from the references of the expression and compiles nothing.
func Lowest(a *ast.AST) (minor int, lacking string) {
	l := lowest{ast: a, minor: format.OldestMinor}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(l.expression))
	return l.minor, l.lacking
}

type lowest struct {
	ast     *ast.AST
	minor   int
	lacking string
}

func (l *lowest) needs(since int, format string, args ...any) {
	if since > l.minor {
		l.minor, l.lacking = since, fmt.Sprintf(format, args...)
	}
}

func (l *lowest) expression(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		l.call(e)
	case ast.ComprehensionKind:
		if e.AsComprehension().HasIterVar2() {
			l.needs(twoVariablesSince, "macros with two variables")
		}
	case ast.SelectKind:
		s := e.AsSelect()
		name := s.FieldName()
		if t := l.ast.GetType(s.Operand().ID()); t.Kind() != celtypes.StructKind {
			break
		}
		if escaped, ok := apiservercel.Escape(name); ok && escaped == "__"+name+"__" {
			l.needs(keywordFieldsSince, "the field name %s without its escape, %s", name, escaped)
		}
	}
	r := l.ast.ReferenceMap()[e.ID()]
	if r != nil && len(r.OverloadIDs) == 0 && l.ast.GetType(e.ID()).Kind() == celtypes.TypeKind {
		l.needs(introductions().ofType(r.Name), "the type %s", r.Name)
	}
}

// call uses the oldest of the overloads that may apply at run time.
func (l *lowest) call(e ast.Expr) {
	name, first := e.AsCall().FunctionName(), format.LatestMinor+1
	for _, overload := range l.ast.GetOverloadIDs(e.ID()) {
		since := introductions().overloads[overload]
		if crossesTypes(overload) {
			since = crossTypeNumbersSince
		}
		first = min(first, since)
	}
	if first > format.LatestMinor {
		return
	}
	symbol, isOperator := operators.FindReverse(name)
	switch {
	case name == operators.OptSelect || name == operators.OptIndex:
		l.needs(first, "optional fields and elements, .? and [?]")
	case strings.Contains(name, "@"):
		l.needs(first, "a macro")
	case isOperator && symbol != "":
		l.needs(first, "the operator %s between numbers of different types", symbol)
	default:
		l.needs(first, "the function %s", name)
	}
}

// crossesTypes recognizes comparisons of numbers of different types, such as less_int64_double.
func crossesTypes(overload string) bool {
	isNumber := func(s string) bool { return s == "int64" || s == "uint64" || s == "double" }
	for _, operator := range []string{"less_equals_", "less_", "greater_equals_", "greater_"} {
		if rest, ok := strings.CutPrefix(overload, operator); ok {
			a, b, two := strings.Cut(rest, "_")
			return two && isNumber(a) && isNumber(b)
		}
	}
	return false
}

// introduced records the minors that introduced overloads and types.
type introduced struct {
	overloads map[string]int
	providers []typesSince
}

type typesSince struct {
	since int
	types celtypes.Provider
}

var introductions = sync.OnceValue(func() *introduced {
	in := &introduced{overloads: map[string]int{}}
	for _, r := range releases() {
		env := must(cel.NewEnv(r.options...)) // with the standard library each
		for _, f := range env.Functions() {
			for _, o := range f.OverloadDecls() {
				if known, ok := in.overloads[o.ID()]; !ok || r.since < known {
					in.overloads[o.ID()] = r.since
				}
			}
		}
		in.providers = append(in.providers, typesSince{r.since, env.CELTypeProvider()})
	}
	return in
})

// ofType returns the minor that introduced a type; 0 for the types of schemas.
func (in *introduced) ofType(name string) int {
	first := format.LatestMinor + 1
	for _, p := range in.providers {
		if _, ok := p.types.FindIdent(name); ok {
			first = min(first, p.since)
		}
	}
	if first > format.LatestMinor {
		return 0
	}
	return first
}
