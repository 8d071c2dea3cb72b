package rule

import (
	"sync"
	"sync/atomic"
	"weak"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// programs are the cel-go programs of one Set, compiled when they are first replayed, and the property tables of its types. They go with the Set,
// or before it when the process keeps too many (replay_kept.go).
type programs struct {
	set      *Set
	declared *typeSchema // of what expressions were checked against
	self     *typeSchema // of values

	used  atomic.Bool // since the cache last looked
	place *keptPlace  // in the cache, whose lock guards it; nil outside

	mu     sync.RWMutex
	byText map[programKey]cel.Program
	flying map[programKey]*flight

	// declaring is held while scope is in use. It holds a declaration of the whole type, which may be megabytes: as long as there is room.
	declaring sync.Mutex
	scope     weak.Pointer[Scope]
}

type programKey struct {
	text     string
	optional bool   // oldSelf is declared as an optional
	limit    uint64 // of the cost
}

// programs finds or makes the Set's. What is dropped meanwhile goes on working for who has it.
func (s *Set) programs() *programs {
	for {
		if p := s.replays.Load(); p != nil {
			return p
		}
		made := &programs{set: s, declared: schemaOf(s.declared), byText: map[programKey]cel.Program{}, flying: map[programKey]*flight{}}
		if made.self = made.declared; s.self != s.declared {
			made.self = schemaOf(s.self)
		}
		s.replays.CompareAndSwap(nil, made)
	}
}

// get returns the program of an expression that compiled when the set was made. ok is unset if done closed before; the program is made all the
// same, for others. An error is one of cel-go that it did not have then.
func (p *programs) get(key programKey, done <-chan struct{}) (program cel.Program, ok bool, err error) {
	p.used.Store(true)
	for {
		p.mu.RLock()
		program, f := p.byText[key], p.flying[key]
		p.mu.RUnlock()
		switch {
		case program != nil:
			return program, true, nil
		case f == nil:
			if f = p.take(key, done); f == nil {
				return nil, false, nil
			}
		}
		select {
		case <-f.done:
		case <-done:
			return nil, false, nil
		}
		switch {
		case f.panicked != nil:
			panic(f.panicked)
		case f.program != nil || f.err != nil:
			return f.program, true, f.err
		}
	}
}

// flight is a program being made, once for all who want it.
type flight struct {
	done     chan struct{}
	program  cel.Program
	err      error
	panicked any
}

// landed is the flight of who finds that there is nothing to make.
var landed = func() *flight {
	f := &flight{done: make(chan struct{})}
	close(f.done)
	return f
}()

// take sets out to make a program unless somebody does already. It is nil if done closed before that could begin.
func (p *programs) take(key programKey, done <-chan struct{}) *flight {
	isLong := long(key.text)
	if isLong && !compileSlots.Acquire(done) {
		return nil
	}
	p.mu.Lock()
	if p.byText[key] != nil || p.flying[key] != nil {
		p.mu.Unlock()
		if isLong {
			compileSlots.Release()
		}
		return landed
	}
	f := &flight{done: make(chan struct{})}
	p.flying[key] = f
	p.mu.Unlock()
	fly := func() {
		defer func() {
			f.panicked = recover()
			p.mu.Lock()
			delete(p.flying, key)
			p.mu.Unlock()
			close(f.done)
			if isLong {
				compileSlots.Release()
			}
		}()
		f.program, f.err = p.compile(key, isLong)
	}
	if done == nil {
		fly()
	} else {
		go fly()
	}
	return f
}

// compile compiles an expression anew from the type alone: declarations made of it have no sizes, but those serve estimates only.
func (p *programs) compile(key programKey, isLong bool) (cel.Program, error) {
	checked := p.check(key, isLong)
	if checked == nil {
		return nil, &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: "the rule does not compile any more"}
	}
	orderFolds(checked.NativeRep())
	env := Stored()
	program, err := env.plan(checked, append(append(env.stopOptions(), orderOptions()...), cel.CostLimit(key.limit))...)
	if err == nil {
		p.keep(key, program, programBytes+bytesPerPart*ast.MaxID(checked.NativeRep()))
	}
	return program, err
}

// check checks an expression in the scope that the expressions of the set share; one that takes long has a scope of its own, so that others need
// not wait.
func (p *programs) check(key programKey, isLong bool) *cel.Ast {
	if isLong {
		checked, _ := Stored().check(key.text, scopeOf(p.set.declared), key.optional)
		return checked
	}
	p.declaring.Lock()
	defer p.declaring.Unlock()
	scope := p.scope.Value()
	if scope == nil {
		scope = scopeOf(p.set.declared)
		p.scope = weak.Make(scope)
	}
	checked, _ := Stored().check(key.text, scope, key.optional)
	return checked
}

// scopeOf is a scope without a schema behind it, for expressions about values of a type.
func scopeOf(t *closure.Type) *Scope {
	scope := &Scope{ResourceRoot: t.Root, values: t, declared: t}
	scope.declare(common.SchemaDeclType(schemaOf(t), false))
	return scope
}
