package closure

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// compiler turns one expression into closures.
type compiler struct {
	ast       *ast.AST
	functions map[string]*functions.Overload
	scope     *scope
	program   *Program
	closures  int32
	reads     *Reads
	paths     map[int]string // of Reads to the nodes in the frame's slots, if they are known
	maps      bool           // literals of maps are compiled
}

// scope is a variable and those around it.
type scope struct {
	name string
	// attr is the variable's value; nil for variables that only macros use.
	attr  *attr
	outer *scope
}

func newCompiler(a *ast.AST, self *Type, o Options) *compiler {
	c := &compiler{ast: a, functions: o.Functions, program: &Program{nodes: nodeFirst, value: o.Value}}
	c.reads, c.paths = cmp.Or(o.Reads, &Reads{}), map[int]string{nodeSelf: ""}
	c.reads.any = c.reads.any || o.OptionalOldSelf
	c.declare("self", variableAttr(nodeSelf, self))
	old := variableAttr(nodeOld, self)
	if o.OptionalOldSelf {
		old = &attr{base: optionalOld(self), shape: &shape{kind: kindOptional, elem: shapeOfType(self)}, optional: true}
	}
	c.declare("oldSelf", old)
	return c
}

// variableAttr returns a variable whose value is a node.
func variableAttr(node int, t *Type) *attr {
	return &attr{node: node, typ: t, shape: shapeOfType(t)}
}

// optionalOld returns oldSelf as an optional.
func optionalOld(self *Type) *expr {
	return &expr{shape: &shape{kind: kindOptional, elem: shapeOfType(self)}, v: func(f *Frame) (val, bool) {
		if f.Old == 0 {
			return noneVal, true
		}
		v, ok := f.read(f.Old, self)
		v.opt = true
		return v, ok
	}}
}

func (c *compiler) declare(name string, a *attr) { c.scope = &scope{name, a, c.scope} }

// unsupported ends the compilation.
func (c *compiler) unsupported(format string, args ...any) {
	panic(Unsupported(fmt.Sprintf(format, args...)))
}

// node and variable reserve a slot in the frame.
func (c *compiler) node() int     { c.program.nodes++; return int(c.program.nodes - 1) }
func (c *compiler) variable() int { c.program.vals++; return int(c.program.vals - 1) }

// observed compiles an expression whose value cel-go's cost tracker observes: an argument, an operand, a result.
func (c *compiler) observed(e ast.Expr) *expr { return c.resolve(c.compile(e), 1) }

// compile compiles an expression. The caller sets the cost of an attribute (a variable with selectors) with resolve.
func (c *compiler) compile(e ast.Expr) *expr {
	c.closures++
	switch e.Kind() {
	case ast.LiteralKind:
		return c.literal(e.AsLiteral())
	case ast.IdentKind:
		return c.ident(e)
	case ast.SelectKind:
		if r, ok := c.ast.ReferenceMap()[e.ID()]; ok {
			return c.reference(e, r)
		}
		s := e.AsSelect()
		if s.IsTestOnly() {
			return c.presence(c.compile(s.Operand()), s.FieldName())
		}
		return c.selected(c.compile(s.Operand()), step{name: s.FieldName()})
	case ast.ListKind:
		return c.listLiteral(e)
	case ast.CallKind:
		return c.call(e)
	case ast.ComprehensionKind:
		return c.fold(e)
	case ast.MapKind:
		return c.mapLiteral(e)
	}
	c.unsupported("a literal of a message")
	return nil
}

func (c *compiler) literal(l ref.Val) *expr {
	v, ok := constantOf(l)
	if !ok {
		c.unsupported("a literal of type %v", l.Type())
	}
	t, _ := l.Type().(*types.Type)
	return constExpr(shapeOf(t), v)
}

// ident compiles a variable or the name of a type.
func (c *compiler) ident(e ast.Expr) *expr {
	if r, ok := c.ast.ReferenceMap()[e.ID()]; ok {
		return c.reference(e, r)
	}
	return c.named(e.AsIdent())
}

func (c *compiler) reference(e ast.Expr, r *ast.ReferenceInfo) *expr {
	if r.Value != nil {
		return c.literal(r.Value)
	}
	if t := c.ast.GetType(e.ID()); t.Kind() == types.TypeKind {
		if p := t.Parameters(); len(p) == 1 {
			return constExpr(opaqueShape, refVal(p[0]))
		}
		c.unsupported("the type %s", r.Name)
	}
	return c.named(r.Name)
}

func (c *compiler) named(name string) *expr {
	s := c.scope
	if strings.HasPrefix(name, ".") { // a root variable, even if macros declare the name
		name = name[1:]
		for s.outer != nil && s.outer.outer != nil {
			s = s.outer
		}
	}
	for ; s != nil; s = s.outer {
		if s.name == name {
			if s.attr == nil {
				c.unsupported("the variable %s of a macro", name)
			}
			return &expr{shape: s.attr.shape, attr: s.attr}
		}
	}
	c.unsupported("the variable %s", name)
	return nil
}

// operands compiles the arguments of a call, the receiver first.
func (c *compiler) operands(call ast.CallExpr) []*expr {
	var xs []*expr
	if call.IsMemberFunction() {
		xs = append(xs, c.observed(call.Target()))
	}
	for _, a := range call.Args() {
		xs = append(xs, c.observed(a))
	}
	return xs
}

// call compiles operators and functions.
func (c *compiler) call(e ast.Expr) *expr {
	call := e.AsCall()
	switch name := call.FunctionName(); name {
	case operators.Conditional:
		return c.conditional(call)
	case operators.Index:
		return c.index(call, false)
	case operators.OptIndex:
		return c.index(call, true)
	case operators.OptSelect:
		return c.optionalSelect(call)
	case operators.LogicalAnd, operators.LogicalOr:
		return c.logical(call, name == operators.LogicalOr)
	}
	k := callee{name: call.FunctionName(), result: shapeOf(c.ast.GetType(e.ID()))}
	if r := c.ast.ReferenceMap()[e.ID()]; r != nil && len(r.OverloadIDs) == 1 {
		k.overload = r.OverloadIDs[0]
	}
	if x := c.lazyOr(k, call); x != nil {
		return x
	}
	args := c.operands(call)
	if x := c.folded(k, args); x != nil {
		return x
	}
	if build, ok := builders[k.name]; ok {
		if x := build(c, k, args); x != nil {
			return x
		}
	}
	return c.generic(k, args)
}

// callee is the function of a call: its name, its overload if the checker found exactly one, the shape of its result.
type callee struct {
	name, overload string
	result         *shape
}

// builders compile functions with closures of their own. A builder returns nil for operands that the generic call
// handles.
var builders map[string]func(c *compiler, k callee, args []*expr) *expr

func init() { // an initializer would refer to itself
	builders = map[string]func(c *compiler, k callee, args []*expr) *expr{
		operators.LogicalNot:    negation,
		operators.Equals:        equality,
		operators.NotEquals:     equality,
		operators.Less:          comparison,
		operators.LessEquals:    comparison,
		operators.Greater:       comparison,
		operators.GreaterEquals: comparison,
		operators.Add:           addition,
		operators.In:            membership,
		"size":                  size,
		"startsWith":            search,
		"endsWith":              search,
		"contains":              search,
		"matches":               matching,
		"find":                  finding,
		"duration":              durationOf,
		"dyn":                   dynOf,
		"string":                printed,
		"split":                 splitting,
		"int":                   integerOf,
	}
}
