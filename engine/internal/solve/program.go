package solve

import (
	"context"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/rule/interpret"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// program is a checked rule whose parts can be evaluated.
type program struct {
	ast      *ast.AST
	scope    *celcheck.Scope
	optional bool // oldSelf is an optional
	parts    map[int64]interpreter.InterpretableV2
	texts    []string // string literals of the rule
}

// newProgram checks a rule of a schema. It returns nil for a rule that does not compile, or that needs an old object.
func newProgram(scope *celcheck.Scope, text string) *program {
	if scope == nil || scope.Decl == nil || celcheck.CheckExpansion(text) != nil || celcheck.IsLong(text) {
		return nil
	}
	p := &program{scope: scope, parts: map[int64]interpreter.InterpretableV2{}}
	for _, r := range scope.Props.XValidations {
		if r.Rule == text && r.OptionalOldSelf != nil {
			p.optional = *r.OptionalOldSelf
		}
	}
	checked, bad := scope.CompileRule(context.Background(), celenv.Stored(), text, p.optional)
	if bad != nil || checked == nil || checked.UsesOldSelf && !p.optional {
		return nil
	}
	p.ast = ast.Copy(checked.Ast.NativeRep())
	interpret.OrderRanges(p.ast)
	ast.PreOrderVisit(p.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if s, ok := literal(e).(types.String); ok {
			p.texts = append(p.texts, string(s))
		}
	}))
	return p
}

// literal returns the value of a literal, nil for another expression.
func literal(e ast.Expr) ref.Val {
	if e.Kind() != ast.LiteralKind {
		return nil
	}
	return e.AsLiteral()
}

// part returns an expression of the rule, ready for evaluation, or nil.
func (p *program) part(e ast.Expr) interpreter.InterpretableV2 {
	if known, ok := p.parts[e.ID()]; ok {
		return known
	}
	a := ast.NewCheckedAST(ast.NewAST(e, p.ast.SourceInfo()), p.ast.TypeMap(), p.ast.ReferenceMap())
	env := celenv.Stored()
	part, err := env.Planner().NewInterpretable(a, interpret.PlannerOptions(env)...)
	if err != nil {
		part = nil
	}
	p.parts[e.ID()] = part
	return part
}

// env binds the variables of an expression: self and oldSelf at its root, then those of macros.
type env struct {
	outer *env
	root  interpreter.Activation // nil except for the root
	name  string
	value ref.Val
	from  source
}

// source says where the value of a variable comes from.
type source struct {
	place *place
	// set proposes changes that give the variable a value. It is nil if nothing does.
	set func(ref.Val)
}

// ResolveName implements interpreter.Activation.
func (v *env) ResolveName(name string) (any, bool) {
	switch {
	case v.root != nil:
		return v.root.ResolveName(name)
	case v.name == name && v.value != nil:
		return v.value, true
	}
	return v.outer.ResolveName(name)
}

// Parent implements interpreter.Activation.
func (v *env) Parent() interpreter.Activation { return nil }

// with returns the environment inside of v with another variable.
func (v *env) with(name string, value ref.Val, from source) *env {
	return &env{outer: v, name: name, value: value, from: from}
}

// find returns the binding of a variable, or the root.
func (v *env) find(name string) *env {
	for v.root == nil && v.name != name {
		v = v.outer
	}
	return v
}

// eval returns the value of a part of the rule, or an error.
func (s *run) eval(e ast.Expr, v *env) (out ref.Val) {
	if value := literal(e); value != nil {
		return value
	}
	s.work++
	part := s.part(e)
	if part == nil {
		return types.NewErr("not planned")
	}
	defer func() {
		if r := recover(); r != nil {
			out = types.NewErr("%v", r)
		}
	}()
	frame, err := interpreter.NewExecutionFrame(v)
	if err != nil {
		return types.WrapErr(err)
	}
	defer frame.Close()
	if err := frame.SetContext(context.Background(), 1); err != nil {
		return types.WrapErr(err)
	}
	return part.Exec(frame)
}

// level is a node of the schema with its rules. Its parts are made when they are first needed.
type level struct {
	scope    *celcheck.Scope
	programs map[string]*program
	members  map[string]*level
	items    *level
	values   *level
}

func newLevel(scope *celcheck.Scope) *level {
	if scope == nil {
		return nil
	}
	return &level{scope: scope, programs: map[string]*program{}, members: map[string]*level{}}
}

// program returns a rule of the level, or nil.
func (l *level) program(text string) *program {
	p, ok := l.programs[text]
	if !ok {
		p = newProgram(l.scope, text)
		l.programs[text] = p
	}
	return p
}

// member returns the level of a member, or nil.
func (l *level) member(name string) *level {
	if _, declared := l.scope.Props.Properties[name]; declared {
		below, ok := l.members[name]
		if !ok {
			below = newLevel(l.scope.Property(name))
			l.members[name] = below
		}
		return below
	}
	if l.values == nil && schema.ValueSchema(l.scope.Props) != nil {
		l.values = newLevel(l.scope.Additional())
	}
	return l.values
}

// element returns the level of the elements, or nil.
func (l *level) element() *level {
	if l.items == nil {
		l.items = newLevel(l.scope.Items())
	}
	return l.items
}
