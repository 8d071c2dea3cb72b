package interpret

import (
	"context"
	"runtime"
	"weak"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

const (
	// maxCachedBytes bounds the programs of the process. Beyond it, the least recently used ones are compiled again when
	// needed.
	maxCachedBytes = 32 << 20
	// maxCompilations bounds the compilations at the same time. Most of them wait for one of celcheck.CompileSlots.
	maxCompilations = 1 << 10

	// The measured memory of a program, per program and per part of its expression.
	programBytes = 16 << 10
	bytesPerPart = 256
)

var cached = cache.New(cache.Options[programKey, program]{
	MaxBytes: maxCachedBytes, MaxBuilds: maxCompilations, Weigh: func(p program) int64 { return p.bytes },
})

type programKey struct {
	declared weak.Pointer[closure.Type] // the type that the expression was checked against
	text     string
	optional bool   // oldSelf is declared as an optional
	limit    uint64 // of the cost
}

type program struct {
	cel.Program
	bytes int64
}

// program returns the program of an expression that compiled when the rules were compiled. An interrupted compilation
// continues for others. An error is one of cel-go that the expression did not have then, or that of the context.
func (e *Evaluation) program(text string, optional bool) (program, error) {
	declared := e.Declared
	key := programKey{weak.Make(declared), text, optional, e.Limit}
	return cached.Get(e.Context, key, func(ctx context.Context) (program, error) {
		p, err := compile(ctx, declared, key)
		if err == nil {
			runtime.AddCleanup(declared, cached.Remove, key)
		}
		return p, err
	})
}

// compile compiles an expression again, from the type alone. Its declarations have no sizes, which only estimates use.
func compile(ctx context.Context, declared *closure.Type, key programKey) (p program, err error) {
	if celcheck.IsLong(key.text) {
		if !celcheck.CompileSlots.Acquire(ctx.Done()) {
			return p, ctx.Err()
		}
		defer celcheck.CompileSlots.Release()
	}
	env := celenv.Stored()
	checked, _ := celcheck.ScopeOf(declared).TypeCheck(env, key.text, key.optional)
	if checked == nil {
		return p, &apiservercel.Error{
			Type: apiservercel.ErrorTypeInternal, Detail: "the rule does not compile any more",
		}
	}
	OrderRanges(checked.NativeRep())
	p.bytes = programBytes + bytesPerPart*ast.MaxID(checked.NativeRep())
	p.Program, err = env.Plan(checked, append(programOptions(env), cel.CostLimit(key.limit))...)
	return p, err
}
