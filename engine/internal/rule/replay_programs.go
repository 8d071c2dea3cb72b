package rule

import (
	"container/list"
	"sync"

	"github.com/google/cel-go/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// programs are the cel-go programs of expressions about one type, compiled when they are first replayed, and the type's property tables.
type programs struct {
	of     *closure.Type
	schema *typeSchema

	mu     sync.Mutex
	byText map[programKey]cel.Program
	place  *list.Element
}

type programKey struct {
	text     string
	optional bool   // oldSelf is declared as an optional
	limit    uint64 // of the cost
}

// maxPrograms bounds how many programs the process keeps for replays: at 20 KiB each, some 20 MiB.
const maxPrograms = 1024

// kept is the process's cache of programs, least recently used types first to go.
var kept = struct {
	mu     sync.Mutex
	types  map[*closure.Type]*programs
	recent list.List // of *programs, the most recent first
	count  int
}{types: map[*closure.Type]*programs{}}

// programsOf finds or makes the programs of a type. What was dropped from the cache meanwhile goes on working for who has it.
func programsOf(t *closure.Type) *programs {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if p := kept.types[t]; p != nil {
		kept.recent.MoveToFront(p.place)
		return p
	}
	p := &programs{of: t, schema: schemaOf(t), byText: map[programKey]cel.Program{}}
	p.place = kept.recent.PushFront(p)
	kept.types[t] = p
	keep(1)
	return p
}

// keep counts programs, a type as one more, and drops the least recently used ones above the bound. kept is locked.
func keep(more int) {
	for kept.count += more; kept.count > maxPrograms && kept.recent.Len() > 1; {
		p := kept.recent.Remove(kept.recent.Back()).(*programs)
		delete(kept.types, p.of)
		p.mu.Lock()
		kept.count -= len(p.byText) + 1
		p.place = nil
		p.mu.Unlock()
	}
}

// get returns the program of an expression that compiled when the set was made. An error is one of cel-go that it did not have then.
func (p *programs) get(key programKey) (cel.Program, error) {
	p.mu.Lock()
	known := p.byText[key]
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := p.compile(key)
	if err != nil {
		return nil, err
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	p.mu.Lock()
	if known := p.byText[key]; known != nil {
		p.mu.Unlock()
		return known, nil
	}
	p.byText[key] = made
	counted := p.place != nil
	p.mu.Unlock()
	if counted {
		keep(1)
	}
	return made, nil
}

// compile compiles an expression anew from the type alone: declarations made of it have no sizes, but those serve estimates only.
func (p *programs) compile(key programKey) (cel.Program, error) {
	scope := scopeOf(p.of, p.schema)
	env := Stored()
	ast := env.check(key.text, scope, key.optional)
	if ast == nil {
		return nil, &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: "the rule does not compile any more"}
	}
	orderFolds(ast.NativeRep())
	return env.plan(ast, append(append(env.stopOptions(), orderOptions()...), cel.CostLimit(key.limit))...)
}

// scopeOf is a scope without a schema behind it, for expressions about values of a type.
func scopeOf(t *closure.Type, s *typeSchema) *Scope {
	scope := &Scope{ResourceRoot: t.Root, values: t, declared: t}
	scope.declare(common.SchemaDeclType(s, false))
	return scope
}
