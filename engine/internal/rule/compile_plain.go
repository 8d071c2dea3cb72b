package rule

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	celtypes "github.com/google/cel-go/common/types"
)

// literals reports whether validators could have an opinion about the expression: it has a list or map literal, or a call of a function whose
// literal arguments are validated. A single element has nothing to differ from, unless it is optional: validators do not survive [?x] where x is
// dynamic, and upstream answers 500. Walking the expression once is much cheaper than letting each validator do it.
func literals(a *ast.AST) bool {
	found := false
	visit(a.Expr(), func(e ast.Expr) bool {
		switch e.Kind() {
		case ast.ListKind:
			found = found || len(e.AsList().Elements()) > 1 || len(e.AsList().OptionalIndices()) > 0
		case ast.MapKind:
			found = found || len(e.AsMap().Entries()) > 1 || len(e.AsMap().Entries()) == 1 && e.AsMap().Entries()[0].AsMapEntry().IsOptional()
		case ast.CallKind:
			switch e.AsCall().FunctionName() {
			case overloads.TypeConvertDuration, overloads.TypeConvertTimestamp, overloads.Matches, "format":
				found = true
			}
		}
		return !found
	})
	return found
}

// plain reports whether planning the expression cannot fail. It may say no without need: then the expression is planned.
//
// Planning fails where constants are converted or compiled early (int('x'), find('[')), and where what the checker knows is unknown at run time
// (types, overloads).
func (e *Env) plain(a *ast.AST) bool {
	ok := true
	visit(a.Expr(), func(x ast.Expr) bool {
		switch x.Kind() {
		case ast.StructKind, ast.UnspecifiedExprKind:
			ok = false
		case ast.IdentKind, ast.SelectKind:
			if t := a.TypeMap()[x.ID()]; t != nil && t.Kind() == celtypes.TypeKind {
				ok = false
			}
		case ast.MapKind:
			ok = !folds(x) || plainKeys(x)
		case ast.CallKind:
			ok = e.plainCall(a, x)
		}
		return ok
	})
	return ok
}

// folds reports whether planning evaluates the expression and keeps the value: literals, lists and maps of such, conversions of such
// (cel-go, interpreter/decorators.go, decOptimize).
func folds(x ast.Expr) bool {
	switch x.Kind() {
	case ast.LiteralKind:
		return true
	case ast.ListKind:
		return all(x.AsList().Elements(), folds)
	case ast.MapKind:
		for _, entry := range x.AsMap().Entries() {
			if !folds(entry.AsMapEntry().Key()) || !folds(entry.AsMapEntry().Value()) {
				return false
			}
		}
		return true
	case ast.CallKind:
		call := x.AsCall()
		return overloads.IsTypeConversionFunction(call.FunctionName()) && !call.IsMemberFunction() && all(call.Args(), folds) ||
			call.FunctionName() == operators.In && folds(call.Args()[1])
	}
	return false
}

func all(of []ast.Expr, holds func(ast.Expr) bool) bool {
	for _, x := range of {
		if !holds(x) {
			return false
		}
	}
	return true
}

// plainKeys: the keys of a map literal are strings and integers. cel-go does not survive some others, bytes for one.
func plainKeys(x ast.Expr) bool {
	for _, entry := range x.AsMap().Entries() {
		if key := entry.AsMapEntry().Key(); !plainKey(key) {
			return false
		}
	}
	return true
}

func plainKey(key ast.Expr) bool {
	if key.Kind() != ast.LiteralKind {
		return false
	}
	switch key.AsLiteral().(type) {
	case celtypes.Int, celtypes.String:
		return true
	}
	return false
}

func (e *Env) plainCall(a *ast.AST, x ast.Expr) bool {
	call := x.AsCall()
	name := call.FunctionName()
	switch name {
	case operators.LogicalAnd, operators.LogicalOr, operators.Conditional, operators.Equals, operators.NotEquals,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo,
		operators.LogicalNot, operators.Negate, operators.In, operators.NotStrictlyFalse, overloads.Size:
		return true
	case operators.Index:
		key := call.Args()[1]
		return !folds(key) || plainKey(key)
	}
	for k, arg := range call.Args() {
		validated := k == 0 && arg.Kind() == ast.LiteralKind && e.validates(name)
		if folds(arg) && !validated && !plainLiteral(name) {
			return false
		}
	}
	return len(a.GetOverloadIDs(x.ID())) == 1
}

// plainLiteral: literal arguments of the function are not looked at before it runs.
func plainLiteral(function string) bool {
	switch function {
	case overloads.StartsWith, overloads.EndsWith, overloads.Contains, "split", "join", "replace", "lowerAscii", "upperAscii", "substring",
		"indexOf", "lastIndexOf", "trim", "charAt":
		return true
	}
	return false
}

// validates reports whether a validator has seen to it that the first argument of the function, if it is a literal, makes sense.
func (e *Env) validates(function string) bool {
	switch function {
	case overloads.TypeConvertDuration, overloads.TypeConvertTimestamp, overloads.Matches:
		return e.minor >= validatorsSince
	}
	return false
}

// visit calls f for the expression and what it consists of, as long as f says so.
func visit(e ast.Expr, f func(ast.Expr) bool) bool {
	if !f(e) {
		return false
	}
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() && !visit(call.Target(), f) {
			return false
		}
		return visitAll(call.Args(), f)
	case ast.SelectKind:
		return visit(e.AsSelect().Operand(), f)
	case ast.ListKind:
		return visitAll(e.AsList().Elements(), f)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			if !visit(entry.AsMapEntry().Key(), f) || !visit(entry.AsMapEntry().Value(), f) {
				return false
			}
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			if !visit(field.AsStructField().Value(), f) {
				return false
			}
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return visit(c.IterRange(), f) && visit(c.AccuInit(), f) && visit(c.LoopCondition(), f) && visit(c.LoopStep(), f) && visit(c.Result(), f)
	}
	return true
}

func visitAll(list []ast.Expr, f func(ast.Expr) bool) bool {
	for _, e := range list {
		if !visit(e, f) {
			return false
		}
	}
	return true
}
