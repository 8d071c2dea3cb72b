package closure

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
)

// ValueProgram is a compiled expression of any type.
type ValueProgram struct {
	program Program
	result  valFn
}

// CompileValue is Compile for an expression of any type.
func CompileValue(a *ast.AST, self *Type, o Options) (p *ValueProgram, err error) {
	c, err := compile(a, self, o, true, func(c *compiler, x *expr) {
		p = &ValueProgram{result: x.val()}
	})
	if err != nil {
		return nil, err
	}
	p.program = *c.program
	return p, nil
}

// Size is that of Program.
func (p *ValueProgram) Size() int64 { return p.program.Size() + 8 }

// Eval evaluates the program in the frame. ok is false if the outcome is Unknown. The value is valid until Done, which
// must be called in any case.
func (p *ValueProgram) Eval(f *Frame) (v Value, ok bool) {
	f.prepare(&p.program)
	r, ok := p.result(f)
	return Value{r, f}, ok && f.Cost <= f.Limit
}

// Done ends an evaluation.
func (p *ValueProgram) Done(f *Frame) { f.tidy(&p.program) }

// Value is the value of a ValueProgram, or a part of it.
type Value struct {
	v val
	f *Frame
}

// IsNone reports whether the value is an optional without a value.
func (v Value) IsNone() bool { return v.v.kind == kindNone }

// Content returns the content of an optional that has one. It is v itself for other values.
func (v Value) Content() Value {
	v.v.opt = false
	return v
}

// Kind is Bool, Int, Double or String, List or Map for a computed one, Object for an object, a map or a list of the
// document, and Opaque for values that only Ref has.
func (v Value) Kind() Kind {
	if v.v.opt {
		return Opaque
	}
	switch v.v.kind {
	case kindBool:
		return Bool
	case kindInt:
		return Int
	case kindDouble:
		return Double
	case kindString:
		return String
	case kindList:
		return List
	case kindEntries:
		return Map
	case kindNode:
		return Object
	}
	return Opaque
}

// Bool returns the value of the kind Bool.
func (v Value) Bool() bool { return v.v.word != 0 }

// Int returns the value of the kind Int.
func (v Value) Int() int64 { return int64(v.v.word) }

// Double returns the value of the kind Double.
func (v Value) Double() float64 { return v.v.float() }

// Text returns the value of the kind String.
func (v Value) Text() string { return v.v.text() }

// Node returns the node of the kind Object.
func (v Value) Node() uint32 { return uint32(v.v.word) }

// Len returns the number of elements of the kinds List and Map.
func (v Value) Len() int { return len(v.elements()) }

// At returns an element of the kinds List and Map. Those of a Map are in the order of their keys, and IsNone holds for
// keys that the map does not have.
func (v Value) At(i int) Value { return Value{v.elements()[i], v.f} }

// Key returns the key of an element of the kind Map.
func (v Value) Key(i int) string { return v.v.of.(*entries).keys[i] }

func (v Value) elements() []val {
	if v.v.kind == kindEntries {
		return v.v.entries(v.f)
	}
	return v.v.span(v.f)
}

// Ref returns the value as cel-go has it. ok is false without one.
func (v Value) Ref() (r ref.Val, ok bool) { return v.f.ref(v.v) }
