package mutation

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"
)

// ruleEdit is a changed CEL expression. before and after are the changed part.
type ruleEdit struct{ kind, before, after, rule string }

// celParser parses macros such as has and all as calls, so that an expression can be printed again.
var celParser = func() *parser.Parser {
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true), parser.EnableIdentEscapeSyntax(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return p
}()

var exprs = ast.NewExprFactory()

// ruleEdits returns the mutations of a CEL expression, in the order of the expression. It returns nil for an expression
// that cannot be parsed. transition says that the rule needs an old value.
func ruleEdits(rule string, transition bool) []ruleEdit {
	parsed, errs := celParser.Parse(common.NewTextSource(rule))
	if len(errs.GetErrors()) > 0 {
		return nil
	}
	e := &ruleEditor{root: parsed.Expr(), info: parsed.SourceInfo(), seen: map[string]bool{}}
	e.seen[e.text(e.root)] = true
	if transition && e.mentions(e.root, oldSelf) {
		e.replaceOldSelf()
	}
	e.clause(e.root)
	e.visit(e.root, false)
	return e.edits
}

// clause negates a condition that no other mutation negates.
func (e *ruleEditor) clause(x ast.Expr) {
	switch x.Kind() {
	case ast.CallKind:
		switch name := x.AsCall().FunctionName(); {
		case name == operators.LogicalAnd, name == operators.LogicalOr, name == operators.LogicalNot,
			name == operators.Conditional, name == operators.Equals, name == operators.NotEquals, isOrder(name):
			return
		}
	case ast.IdentKind, ast.SelectKind:
	default:
		return
	}
	e.replace("negated", x, func(part ast.Expr) ast.Expr {
		return exprs.NewCall(part.ID()+1<<40, operators.LogicalNot, part)
	})
}

// isOrder reports whether a function is <, <=, > or >=.
func isOrder(name string) bool {
	switch name {
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return true
	}
	return false
}

const oldSelf = "oldSelf"

type ruleEditor struct {
	root  ast.Expr
	info  *ast.SourceInfo
	edits []ruleEdit
	seen  map[string]bool // rules
}

// text prints an expression on one line, "" if cel-go cannot print it.
func (e *ruleEditor) text(x ast.Expr) string {
	text, err := parser.Unparse(x, e.info, parser.WrapOnColumn(math.MaxInt))
	if err != nil {
		return ""
	}
	return text
}

// replace adds the mutation that replaces a part of the expression. make returns the replacement of a copy of the part.
func (e *ruleEditor) replace(kind string, at ast.Expr, change func(part ast.Expr) ast.Expr) {
	root := exprs.CopyExpr(e.root)
	part := find(root, at.ID())
	after := change(exprs.CopyExpr(part))
	part.SetKindCase(after)
	e.add(kind, e.text(at), e.text(part), e.text(root))
}

func (e *ruleEditor) add(kind, before, after, rule string) {
	if rule == "" || e.seen[rule] {
		return
	}
	e.seen[rule] = true
	e.edits = append(e.edits, ruleEdit{kind, before, after, rule})
}

// find returns the part of an expression with an id.
func find(root ast.Expr, id int64) (found ast.Expr) {
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(x ast.Expr) {
		if x.ID() == id {
			found = x
		}
	}))
	return found
}

func (e *ruleEditor) mentions(x ast.Expr, name string) (found bool) {
	ast.PostOrderVisit(x, ast.NewExprVisitor(func(x ast.Expr) {
		found = found || x.Kind() == ast.IdentKind && x.AsIdent() == name
	}))
	return found
}

// replaceOldSelf makes a rule that no longer compares with the old value.
func (e *ruleEditor) replaceOldSelf() {
	root := exprs.CopyExpr(e.root)
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() == ast.IdentKind && x.AsIdent() == oldSelf {
			x.SetKindCase(exprs.NewIdent(x.ID(), "self"))
		}
	}))
	e.add("oldSelf to self", e.text(e.root), e.text(root), e.text(root))
}

// swaps are the operators and methods that replace others.
var swaps = map[string][]string{
	operators.Less:          {operators.LessEquals, operators.GreaterEquals},
	operators.LessEquals:    {operators.Less, operators.Greater},
	operators.Greater:       {operators.GreaterEquals, operators.LessEquals},
	operators.GreaterEquals: {operators.Greater, operators.Less},
	operators.Equals:        {operators.NotEquals}, operators.NotEquals: {operators.Equals},
	operators.Add: {operators.Subtract}, operators.Subtract: {operators.Add},
	operators.Multiply: {operators.Divide}, operators.Divide: {operators.Multiply},
	operators.All: {operators.Exists}, operators.Exists: {operators.All}, operators.ExistsOne: {operators.Exists},
	"existsOne":  {operators.Exists},
	"startsWith": {"endsWith"}, "endsWith": {"startsWith"},
}

// visit adds the mutations of an expression and its parts. chained is true for an operand of a chain of the same
// operator, && or ||.
func (e *ruleEditor) visit(x ast.Expr, chained bool) {
	switch x.Kind() {
	case ast.CallKind:
		e.call(x, chained)
	case ast.LiteralKind:
		e.literal(x)
	case ast.SelectKind:
		e.visit(x.AsSelect().Operand(), false)
	case ast.ListKind:
		for _, element := range x.AsList().Elements() {
			e.visit(element, false)
		}
	case ast.MapKind:
		for _, entry := range x.AsMap().Entries() {
			e.visit(entry.AsMapEntry().Key(), false)
			e.visit(entry.AsMapEntry().Value(), false)
		}
	}
}

func (e *ruleEditor) call(x ast.Expr, chained bool) {
	call := x.AsCall()
	name, args := call.FunctionName(), call.Args()
	for _, other := range swaps[name] {
		e.replace("operator", x, func(part ast.Expr) ast.Expr { return renamed(part, other) })
	}
	switch name {
	case operators.LogicalAnd, operators.LogicalOr:
		if !chained {
			e.chain(x, name)
		}
		for _, operand := range args {
			e.visit(operand, isCall(operand, name))
		}
		return
	case operators.LogicalNot:
		e.replace("negation dropped", x, func(part ast.Expr) ast.Expr { return part.AsCall().Args()[0] })
	case operators.Conditional:
		for i, branch := range []string{"always the first branch", "always the second branch"} {
			e.replace(branch, x, func(part ast.Expr) ast.Expr { return part.AsCall().Args()[i+1] })
		}
	case operators.Has:
		e.replace("has dropped", x, func(part ast.Expr) ast.Expr { return exprs.NewLiteral(part.ID(), types.True) })
	case operators.All, operators.Exists, operators.ExistsOne, operators.Filter:
		if len(args) > 1 {
			e.clause(args[len(args)-1])
		}
	}
	switch name {
	case operators.Filter:
		if call.IsMemberFunction() {
			e.replace("filter dropped", x, func(part ast.Expr) ast.Expr { return part.AsCall().Target() })
		}
	}
	if call.IsMemberFunction() {
		e.visit(call.Target(), false)
	}
	for _, arg := range args {
		e.visit(arg, false)
	}
}

// chain adds the mutations of a && b && …: each operand dropped, and the operators replaced.
func (e *ruleEditor) chain(x ast.Expr, name string) {
	other := operators.LogicalOr
	if name == operators.LogicalOr {
		other = operators.LogicalAnd
	}
	operands := operandsOf(x, name, nil)
	for i, operand := range operands {
		e.clause(operand)
		kind := "clause dropped"
		if e.mentions(operand, oldSelf) {
			kind = "transition clause dropped"
		}
		root := exprs.CopyExpr(e.root)
		part := find(root, x.ID())
		kept := operandsOf(exprs.CopyExpr(part), name, nil)
		part.SetKindCase(joined(append(kept[:i:i], kept[i+1:]...), name))
		e.add(kind, e.text(operand), "", e.text(root))
	}
	e.replace("&& and ||", x, func(part ast.Expr) ast.Expr { return joined(operandsOf(part, name, nil), other) })
}

func isCall(x ast.Expr, name string) bool {
	return x.Kind() == ast.CallKind && x.AsCall().FunctionName() == name
}

func operandsOf(x ast.Expr, name string, all []ast.Expr) []ast.Expr {
	if !isCall(x, name) {
		return append(all, x)
	}
	for _, arg := range x.AsCall().Args() {
		all = operandsOf(arg, name, all)
	}
	return all
}

func joined(operands []ast.Expr, name string) ast.Expr {
	x := operands[0]
	for i, next := range operands[1:] {
		x = exprs.NewCall(int64(i)+1<<40, name, x, next)
	}
	return x
}

// renamed returns a call with another function.
func renamed(part ast.Expr, name string) ast.Expr {
	call := part.AsCall()
	if call.IsMemberFunction() {
		return exprs.NewMemberCall(part.ID(), name, call.Target(), call.Args()...)
	}
	return exprs.NewCall(part.ID(), name, call.Args()...)
}

// literal moves a number by one, and negates a boolean.
func (e *ruleEditor) literal(x ast.Expr) {
	move := func(values ...ref.Val) {
		for _, v := range values {
			e.replace("literal", x, func(part ast.Expr) ast.Expr { return exprs.NewLiteral(part.ID(), v) })
		}
	}
	switch v := x.AsLiteral().(type) {
	case types.Bool:
		move(!v)
	case types.Int:
		if v < math.MaxInt64 {
			move(v + 1)
		}
		if v > math.MinInt64 {
			move(v - 1)
		}
	case types.Uint:
		if v < math.MaxUint64 {
			move(v + 1)
		}
		if v > 0 {
			move(v - 1)
		}
	case types.Double:
		move(v+1, v-1)
	}
}
