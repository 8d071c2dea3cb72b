package rule

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// agrees reports whether an expression that compiles in another environment compiles here, to the same. It does if the two differ by libraries
// of functions alone, and the expression calls none of their functions: the checker looks at no others.
func (e *Env) agrees(other *Env, a *ast.AST) bool {
	d := differences[e.minor-OldestMinor][other.minor-OldestMinor]()
	if !d.functionsAlone || len(d.functions) == 0 {
		return d.functionsAlone
	}
	return visit(a.Expr(), func(x ast.Expr) bool {
		if x.Kind() != ast.CallKind {
			return true
		}
		_, differs := d.functions[x.AsCall().FunctionName()]
		return !differs
	})
}

// agreesAbout is agrees for an expression that does not compile in the other environment, so that there is only its text to go by.
func (e *Env) agreesAbout(other *Env, text string) bool {
	d := differences[e.minor-OldestMinor][other.minor-OldestMinor]()
	if !d.functionsAlone {
		return false
	}
	for name := range d.functions {
		if strings.Contains(text, name) {
			return false
		}
	}
	return true
}

// difference is by what the environments of two minors differ.
type difference struct {
	functionsAlone bool
	functions      map[string]struct{}
}

var differences [LatestMinor - OldestMinor + 1][LatestMinor - OldestMinor + 1]func() difference

func init() {
	for a := range differences {
		for b := range differences[a] {
			differences[a][b] = sync.OnceValue(func() difference { return differing(OldestMinor+a, OldestMinor+b) })
		}
	}
}

func differing(a, b int) difference {
	d := difference{functionsAlone: true, functions: map[string]struct{}{}}
	for i, r := range releases() {
		if r.in(a) == r.in(b) {
			continue
		}
		if !r.functions {
			return difference{}
		}
		maps.Copy(d.functions, functionsOf()[i])
	}
	return d
}

// functionsOf are the functions of those releases that bring nothing else, by their places among releases.
var functionsOf = sync.OnceValue(func() map[int]map[string]struct{} {
	standard, err := cel.NewEnv()
	if err != nil {
		panic(fmt.Sprintf("CEL's standard environment: %v", err))
	}
	of := map[int]map[string]struct{}{}
	for i, r := range releases() {
		if !r.functions {
			continue
		}
		env, err := standard.Extend(r.options...)
		if err != nil {
			panic(fmt.Sprintf("the CEL libraries of Kubernetes 1.%d alone: %v", r.since, err))
		}
		of[i] = map[string]struct{}{}
		for name, f := range env.Functions() {
			if s, ok := standard.Functions()[name]; !ok || len(s.OverloadDecls()) != len(f.OverloadDecls()) {
				of[i][name] = struct{}{}
			}
		}
	}
	return of
})
