package closure

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types/ref"
)

// Program is a compiled expression. It is immutable and shared by goroutines without locks; every evaluation has a Frame of its own.
type Program struct {
	run   boolFn
	nodes int // how many variables of each sort the frame must hold
	vals  int
	bools int
	ints  int
	lists int
	size  int64
	value func(data any, t *Type) ref.Val
}

// Options say what the expression is compiled with.
type Options struct {
	// OptionalOldSelf: oldSelf is declared as an optional of self's type. Frame.Old is 0 where it is none.
	OptionalOldSelf bool
	// Functions are the implementations of an environment by overload and by function name, see Functions. Without them only what this package
	// implements itself compiles.
	Functions map[string]*functions.Overload
	// Value makes data of a document, as value.Doc.Any has it, a value as expressions see it. Without it what needs cel-go's own values of the
	// document's lists, maps and objects is Unknown. All programs that one Frame evaluates have the same.
	Value func(data any, t *Type) ref.Val
}

// Functions collects the implementations of an environment's functions, as cel-go's planner finds them. They are meant to be shared by all
// programs of the process.
func Functions(env *cel.Env) (map[string]*functions.Overload, error) {
	all := map[string]*functions.Overload{}
	for _, f := range env.Functions() {
		bindings, err := f.Bindings()
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			all[b.Operator] = b
		}
	}
	return all, nil
}

// Unsupported says what an expression has that this package cannot compile: it must be replayed.
type Unsupported struct{ What string }

func (e *Unsupported) Error() string { return "no closure for " + e.What }

// Compile compiles a checked expression whose type is bool. self is the type of `self`; oldSelf is declared with the same type, or as an optional
// of it. The only error is *Unsupported.
func Compile(a *ast.AST, self *Type, o Options) (p *Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			u, ok := r.(*Unsupported)
			if !ok {
				panic(r)
			}
			p, err = nil, u
		}
	}()
	c := newCompiler(a, self, o)
	x := c.observed(a.Expr())
	if x.shape.kind != shapeBool {
		return nil, &Unsupported{"a result that is not a bool"}
	}
	c.program.run = x.bool()
	c.program.size += programBytes + int64(c.closures)*closureBytes
	return c.program, nil
}

// Size is about how many bytes the program retains, patterns and Types aside: they are shared.
func (p *Program) Size() int64 { return p.size }

// What a program and one of its closures take, on average over the rules of real definitions.
const (
	programBytes = 64
	closureBytes = 42
)
