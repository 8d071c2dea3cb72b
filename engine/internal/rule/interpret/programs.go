package interpret

import (
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// maxCachedBytes bounds the programs of the process. Beyond it, the least recently used ones are compiled again when
// needed.
const maxCachedBytes = 32 << 20

// The measured memory of a program, per program and per part of its expression.
const (
	programBytes = 16 << 10
	bytesPerPart = 256
)

var cached = cache.New(cache.Options[uint64, *programs]{
	MaxBytes: maxCachedBytes, Weigh: func(p *programs) int64 { return p.bytes },
})

// Rules are the rules of one schema node, whose programs the process caches. It is safe for concurrent use.
type Rules struct {
	declared, self *closure.Type // of the checked expressions, and of the values
	key            uint64

	mu sync.Mutex // held while the programs are looked up or added
}

var lastKey atomic.Uint64

// NewRules returns the rules of a node whose expressions were checked against a type and whose values have a type.
func NewRules(declared, self *closure.Type) *Rules {
	r := &Rules{declared: declared, self: self, key: lastKey.Add(1)}
	runtime.AddCleanup(r, cached.Remove, r.key)
	return r
}

// programs are the compiled programs of some Rules, and the property tables of their types. They stay usable after
// eviction.
type programs struct {
	declared *closure.Type
	self     common.Schema
	bytes    int64 // guarded by Rules.mu

	mu     sync.Mutex
	byText map[programKey]*program

	// checking is held while scope is in use. The scope holds a declaration of the whole type, which can take megabytes,
	// until the next garbage collection.
	checking sync.Mutex
	scope    weak.Pointer[celcheck.Scope]
}

type programKey struct {
	text     string
	optional bool   // oldSelf is declared as an optional
	limit    uint64 // of the cost
}

// program is one program, compiled by the first goroutine that holds mu.
type program struct {
	ready atomic.Pointer[cel.Program]
	mu    sync.Mutex
}

// programs returns the cached programs or new ones.
func (r *Rules) programs() *programs {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := cached.Cached(r.key); ok {
		return p
	}
	const tablesPerType = 3 // the property tables take three times the memory of the types
	p := &programs{
		declared: r.declared, self: celcheck.SchemaOf(r.self), byText: map[programKey]*program{},
		bytes: tablesPerType * closure.Retained(r.declared, r.self),
	}
	cached.Add(r.key, p)
	return p
}

// program returns the program of an expression that compiled when the rules were compiled. ok is false if done closes
// first; the program is still made for others. An error is one of cel-go that the expression did not have then.
func (r *Rules) program(p *programs, key programKey, done <-chan struct{}) (_ cel.Program, ok bool, err error) {
	p.mu.Lock()
	one := p.byText[key]
	if one == nil {
		one = &program{}
		p.byText[key] = one
	}
	p.mu.Unlock()
	if ready := one.ready.Load(); ready != nil {
		return *ready, true, nil
	}
	type result struct {
		program cel.Program
		ok      bool
		err     error
	}
	made, ok := interrupt.Run(done, nil, func() result {
		one.mu.Lock()
		defer one.mu.Unlock()
		if ready := one.ready.Load(); ready != nil {
			return result{*ready, true, nil}
		}
		if celcheck.IsLong(key.text) {
			if !celcheck.CompileSlots.Acquire(done) {
				return result{}
			}
			defer celcheck.CompileSlots.Release()
		}
		compiled, bytes, err := p.compile(key)
		if err == nil {
			one.ready.Store(&compiled)
			r.mu.Lock()
			p.bytes += bytes
			cached.Add(r.key, p)
			r.mu.Unlock()
		}
		return result{compiled, true, err}
	})
	return made.program, ok && made.ok, made.err
}

// compile compiles an expression again, from the type alone. Its declarations have no sizes, which only estimates use.
func (p *programs) compile(key programKey) (_ cel.Program, bytes int64, err error) {
	checked := p.check(key)
	if checked == nil {
		return nil, 0, &apiservercel.Error{
			Type: apiservercel.ErrorTypeInternal, Detail: "the rule does not compile any more",
		}
	}
	OrderRanges(checked.NativeRep())
	env := celenv.Stored()
	compiled, err := env.Plan(checked, append(programOptions(env), cel.CostLimit(key.limit))...)
	return compiled, programBytes + bytesPerPart*ast.MaxID(checked.NativeRep()), err
}

// check checks an expression in the shared scope. A long one uses a scope of its own, so that others need not wait.
func (p *programs) check(key programKey) *cel.Ast {
	var scope *celcheck.Scope
	if celcheck.IsLong(key.text) {
		scope = celcheck.ScopeOf(p.declared)
	} else {
		p.checking.Lock()
		defer p.checking.Unlock()
		if scope = p.scope.Value(); scope == nil {
			scope = celcheck.ScopeOf(p.declared)
			p.scope = weak.Make(scope)
		}
	}
	checked, _ := scope.TypeCheck(celenv.Stored(), key.text, key.optional)
	return checked
}
