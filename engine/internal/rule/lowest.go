package rule

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	celtypes "github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// Lowest returns the oldest minor, OldestMinor or later, whose environment compiles the expression in the same scope, and what an older one
// lacks, in words; "" if nothing does. The expression is not compiled again: what it refers to tells.
func (c *Checked) Lowest() (minor int, lacking string) {
	l := lowest{ast: c.Ast.NativeRep(), minor: OldestMinor}
	visit(l.ast.Expr(), func(e ast.Expr) bool {
		l.expression(e)
		return true
	})
	return l.minor, l.lacking
}

type lowest struct {
	ast     *ast.AST
	minor   int
	lacking string
}

// needs notes that something is there since a minor.
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
	if r := l.ast.ReferenceMap()[e.ID()]; r != nil && len(r.OverloadIDs) == 0 && l.ast.GetType(e.ID()).Kind() == celtypes.TypeKind {
		l.needs(introductions().typeSince(r.Name), "the type %s", r.Name)
	}
}

// call: of several overloads that may apply at run time, one is enough.
func (l *lowest) call(e ast.Expr) {
	name, first := e.AsCall().FunctionName(), LatestMinor+1
	for _, overload := range l.ast.GetOverloadIDs(e.ID()) {
		since := introductions().overloads[overload]
		if crossesTypes(overload) {
			since = crossTypeNumbersSince
		}
		first = min(first, since)
	}
	if first > LatestMinor {
		return
	}
	switch {
	case name == operators.OptSelect || name == operators.OptIndex:
		l.needs(first, "optional fields and elements, .? and [?]")
	case strings.Contains(name, "@"):
		l.needs(first, "a macro")
	case operatorName(name) != "":
		l.needs(first, "the operator %s between numbers of different types", operatorName(name))
	default:
		l.needs(first, "the function %s", name)
	}
}

func operatorName(function string) string {
	symbol, ok := operators.FindReverse(function)
	if !ok {
		return ""
	}
	return symbol
}

// crossesTypes recognises the comparisons of numbers of different types: less_int64_double.
func crossesTypes(overload string) bool {
	for _, operator := range []string{"less_equals_", "less_", "greater_equals_", "greater_"} {
		if rest, ok := strings.CutPrefix(overload, operator); ok {
			a, b, two := strings.Cut(rest, "_")
			return two && numbers[a] && numbers[b]
		}
	}
	return false
}

var numbers = map[string]bool{"int64": true, "uint64": true, "double": true}

// introduced is when what expressions can name came into the environments.
type introduced struct {
	overloads map[string]int
	providers []typesSince
}

// typesSince are the types of one release.
type typesSince struct {
	since int
	types celtypes.Provider
}

// introductions goes through the releases one by one, once.
var introductions = sync.OnceValue(func() *introduced {
	in := &introduced{overloads: map[string]int{}}
	for _, r := range releases() {
		env, err := cel.NewEnv(r.options...) // and the standard library, with each
		if err != nil {
			panic(fmt.Sprintf("the CEL libraries of Kubernetes 1.%d alone: %v", r.since, err))
		}
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

// typeSince is when a name came to stand for a type; 0 for what no release has: the types of schemas.
func (in *introduced) typeSince(name string) int {
	first := 0
	for _, p := range in.providers {
		if _, ok := p.types.FindIdent(name); ok && (first == 0 || p.since < first) {
			if first = p.since; first == 0 {
				return 0
			}
		}
	}
	return first
}

// twoVariablesSince is when macros came to take two variables. (ext.TwoVarComprehensions)
const twoVariablesSince = 32
