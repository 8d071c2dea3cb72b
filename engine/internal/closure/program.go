package closure

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types/ref"
)

// Program is a compiled expression. It is immutable and safe for concurrent use; every evaluation has a Frame of its
// own.
type Program struct {
	run   boolFn
	nodes int32 // the number of variables of each sort in the frame
	vals  int32
	size  int32
	value func(data any, t *Type) ref.Val
}

// Options configure Compile.
type Options struct {
	// OptionalOldSelf: oldSelf is declared as an optional of self's type. It is empty if Frame.Old is 0.
	OptionalOldSelf bool
	// Functions are the implementations of an environment by overload and by function name. Without them only what this
	// package implements compiles.
	Functions map[string]*functions.Overload
	// Value returns cel-go's value of data of a document, as tree.Doc.Any has it. Without it, what needs such values is
	// Unknown. All programs that one Frame evaluates must have the same.
	Value func(data any, t *Type) ref.Val
	// Reads, if set, gets the parts that the program depends on added.
	Reads *Reads
}

// Unsupported is the error for an expression that this package cannot compile.
type Unsupported string

func (e Unsupported) Error() string { return "no closure for " + string(e) }

// Compile compiles a checked expression of type bool. self is the type of self, and of oldSelf or of its content.
// Errors are Unsupported.
func Compile(a *ast.AST, self *Type, o Options) (*Program, error) {
	c, err := compile(a, self, o, false, func(c *compiler, x *expr) {
		if x.shape.kind != kindBool {
			c.unsupported("a result that is not a bool")
		}
		c.program.run = x.bool()
	})
	if err != nil {
		return nil, err
	}
	return c.program, nil
}

// compile compiles an expression and passes it to finish, which makes its closure. maps: with literals of maps.
func compile(
	a *ast.AST, self *Type, o Options, maps bool, finish func(*compiler, *expr),
) (c *compiler, err error) {
	defer func() {
		if r := recover(); r != nil {
			u, ok := r.(Unsupported)
			if !ok {
				panic(r)
			}
			err = u
		}
	}()
	c = newCompiler(a, self, o)
	c.maps = maps
	finish(c, c.observed(a.Expr()))
	c.program.size += programBytes + c.closures*closureBytes
	c.reads.closures += int(c.closures)
	return c, nil
}

// Size returns about how many bytes the program retains, without patterns and Types, which are shared.
func (p *Program) Size() int64 { return int64(p.size) }

// The measured memory of a program and of one of its closures, on average over the rules of real definitions.
const (
	programBytes = 32
	closureBytes = 36
)
