package celenv

import (
	"maps"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// SameResult reports whether an expression that compiles in another environment compiles here to the same AST. It does
// if the two environments differ by functions only and the expression calls none of them.
func (e *Env) SameResult(other *Env, a *ast.AST) bool {
	differing, ok := differingFunctions(e.Minor, other.Minor)
	if !ok || len(differing) == 0 {
		return ok
	}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() == ast.CallKind {
			ok = ok && !differing[x.AsCall().FunctionName()]
		}
	}))
	return ok
}

// SameError is SameResult for an expression that does not compile in the other environment, by its text.
func (e *Env) SameError(other *Env, text string) bool {
	differing, ok := differingFunctions(e.Minor, other.Minor)
	for name := range differing {
		ok = ok && !strings.Contains(text, name)
	}
	return ok
}

// differingFunctions returns the functions by which two minors differ. ok is false if they differ by anything else.
func differingFunctions(a, b int) (names map[string]bool, ok bool) {
	names = map[string]bool{}
	for i, r := range releases() {
		if r.in(a) == r.in(b) {
			continue
		}
		if !r.functions {
			return nil, false
		}
		maps.Copy(names, functionsOfReleases()[i])
	}
	return names, true
}

// functionsOfReleases returns the functions of those releases that have functions only, by their indexes.
var functionsOfReleases = sync.OnceValue(func() map[int]map[string]bool {
	standard := must(cel.NewEnv())
	all := map[int]map[string]bool{}
	for i, r := range releases() {
		if !r.functions {
			continue
		}
		all[i] = map[string]bool{}
		for name, f := range must(standard.Extend(r.options...)).Functions() {
			if s, ok := standard.Functions()[name]; !ok || len(s.OverloadDecls()) != len(f.OverloadDecls()) {
				all[i][name] = true
			}
		}
	}
	return all
})
