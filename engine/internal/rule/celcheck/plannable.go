package celcheck

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	celtypes "github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// anyExpr reports whether a condition holds for the expression or an expression below it.
func anyExpr(e ast.Expr, holds func(ast.Expr) bool) (found bool) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(x ast.Expr) { found = found || holds(x) }))
	return found
}

// mayFailValidation reports whether a validator of the environment may reject the expression: it has a list or map
// literal with several elements or an optional one, or calls a function whose literal arguments are validated.
// Validators panic for [?x] where x is dynamic, and upstream answers 500.
func mayFailValidation(a *ast.AST) bool {
	return anyExpr(a.Expr(), func(e ast.Expr) bool {
		switch e.Kind() {
		case ast.ListKind:
			return len(e.AsList().Elements()) > 1 || len(e.AsList().OptionalIndices()) > 0
		case ast.MapKind:
			entries := e.AsMap().Entries()
			return len(entries) > 1 || len(entries) == 1 && entries[0].AsMapEntry().IsOptional()
		case ast.CallKind:
			name := e.AsCall().FunctionName()
			return validatesArgument(name) || name == "format"
		}
		return false
	})
}

// plannable reports whether planning the expression cannot fail. If it returns false, planning decides. Planning fails
// where constants are converted or compiled early (int('x'), find('[')), and where the checker knows a type or an
// overload that the interpreter does not.
func plannable(e *celenv.Env, a *ast.AST) bool {
	return !anyExpr(a.Expr(), func(x ast.Expr) bool {
		switch x.Kind() {
		case ast.StructKind, ast.UnspecifiedExprKind:
			return true
		case ast.IdentKind, ast.SelectKind:
			t := a.TypeMap()[x.ID()]
			return t != nil && t.Kind() == celtypes.TypeKind
		case ast.MapKind:
			return folds(x) && slices.ContainsFunc(x.AsMap().Entries(), func(entry ast.EntryExpr) bool {
				return !isPlainKey(entry.AsMapEntry().Key())
			})
		case ast.CallKind:
			return !plannableCall(e, a, x)
		}
		return false
	})
}

// folds reports whether planning evaluates the expression and keeps the value: literals, lists and maps of literals,
// and conversions of them (cel-go, interpreter/decorators.go, decOptimize).
func folds(x ast.Expr) bool {
	switch x.Kind() {
	case ast.LiteralKind:
		return true
	case ast.ListKind:
		return allFold(x.AsList().Elements())
	case ast.MapKind:
		return !slices.ContainsFunc(x.AsMap().Entries(), func(entry ast.EntryExpr) bool {
			return !folds(entry.AsMapEntry().Key()) || !folds(entry.AsMapEntry().Value())
		})
	case ast.CallKind:
		call := x.AsCall()
		return overloads.IsTypeConversionFunction(call.FunctionName()) && !call.IsMemberFunction() && allFold(call.Args()) ||
			call.FunctionName() == operators.In && folds(call.Args()[1])
	}
	return false
}

func allFold(list []ast.Expr) bool {
	return !slices.ContainsFunc(list, func(x ast.Expr) bool { return !folds(x) })
}

// isPlainKey reports whether a key is a literal string or integer. cel-go panics for some others, such as bytes.
func isPlainKey(key ast.Expr) bool {
	if key.Kind() != ast.LiteralKind {
		return false
	}
	switch key.AsLiteral().(type) {
	case celtypes.Int, celtypes.String:
		return true
	}
	return false
}

func plannableCall(e *celenv.Env, a *ast.AST, x ast.Expr) bool {
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
		return !folds(key) || isPlainKey(key)
	}
	for k, arg := range call.Args() {
		validated := k == 0 && arg.Kind() == ast.LiteralKind && e.ValidatesLiterals() && validatesArgument(name)
		if folds(arg) && !validated && !takesAnyLiteral(name) {
			return false
		}
	}
	return len(a.GetOverloadIDs(x.ID())) == 1
}

// takesAnyLiteral reports whether planning does not look at literal arguments of the function.
func takesAnyLiteral(function string) bool {
	switch function {
	case overloads.StartsWith, overloads.EndsWith, overloads.Contains, "split", "join", "replace", "lowerAscii",
		"upperAscii", "substring", "indexOf", "lastIndexOf", "trim", "charAt":
		return true
	}
	return false
}

// validatesArgument reports whether validators check the first argument of the function if it is a literal.
func validatesArgument(function string) bool {
	switch function {
	case overloads.TypeConvertDuration, overloads.TypeConvertTimestamp, overloads.Matches:
		return true
	}
	return false
}
