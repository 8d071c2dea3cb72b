package interpret

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

const (
	// maxCachedBytes bounds the programs of the process. Beyond it, the least recently used ones are compiled again when
	// needed.
	maxCachedBytes = 32 << 20
	// The measured memory of a program, per program and per part of its expression.
	programBytes = 16 << 10
	bytesPerPart = 256
)

// Long expressions have a cache of their own, so that short ones do not wait for their compilations. Compilations that
// wait end with their callers.
var (
	cached     = newCache(runtime.GOMAXPROCS(0))
	cachedLong = newCache(cap(celcheck.CompileSlots))
	cleaned    sync.Map // the keys that are removed when their types are freed
)

func newCache(builds int) *cache.Cache[programKey, program] {
	return cache.New(cache.Options[programKey, program]{
		MaxBytes: maxCachedBytes / 2, MaxBuilds: builds, Weigh: func(p program) int64 { return p.bytes },
	})
}

func cacheOf(key programKey) *cache.Cache[programKey, program] {
	if celcheck.IsLong(key.text) {
		return cachedLong
	}
	return cached
}

type programKey struct {
	declared weak.Pointer[closure.Type] // the type that the expression was checked against
	text     string
	optional bool   // oldSelf is declared as an optional
	value    bool   // the expression computes a value, as celcheck.Scope.CheckValue compiles it
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
	key := programKey{weak.Make(declared), text, optional, e.Parts != nil, e.Limit}
	if !celcheck.IsLong(text) {
		return compiled(e.Context, declared, key)
	}
	if p, ok := cachedLong.Cached(key); ok {
		return p, nil
	}
	type result struct {
		program
		err error
	}
	ctx := context.WithoutCancel(e.Context) // an abandoned compilation continues
	r, ok := interrupt.Run(e.Stop, celcheck.CompileSlots, func() result {
		p, err := compiled(ctx, declared, key)
		return result{p, err}
	})
	if !ok {
		return program{}, context.Cause(e.Context)
	}
	return r.program, r.err
}

// compiled returns a program from the cache, or compiles it.
func compiled(ctx context.Context, declared *closure.Type, key programKey) (program, error) {
	return cacheOf(key).Get(ctx, key, func(context.Context) (program, error) {
		p, err := compile(declared, key)
		if _, known := cleaned.LoadOrStore(key, nil); !known {
			runtime.AddCleanup(declared, func(key programKey) {
				cacheOf(key).Remove(key)
				cleaned.Delete(key)
			}, key)
		}
		return p, err
	})
}

// compilePanic is a panic in a compilation, as an error of the cache.
type compilePanic struct{ value any }

func (p compilePanic) Error() string { return fmt.Sprint("panic: ", p.value) }

// compile compiles an expression again, from the type alone. Its declarations have no sizes, which only estimates use.
func compile(declared *closure.Type, key programKey) (p program, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = compilePanic{r}
		}
	}()
	env := celenv.Stored()
	scope := celcheck.ScopeOf(declared)
	if key.value {
		scope = celcheck.ValueScopeOf(declared)
	}
	checked, _ := scope.TypeCheck(env, key.text, key.optional)
	if checked == nil {
		return p, &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: "the rule does not compile any more"}
	}
	OrderRanges(checked.NativeRep())
	p.bytes = programBytes + bytesPerPart*ast.MaxID(checked.NativeRep())
	p.Program, err = env.Plan(checked, append(programOptions(env), cel.CostLimit(key.limit))...)
	return p, err
}
