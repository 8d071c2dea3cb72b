package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// normalRule returns a text that equal rules share: rules whose syntax trees differ only in white space, parentheses,
// the notation of literals, the names of variables, the direction of < and <=, and the order of the operands of &&, ||,
// == and !=. If a rule cannot be parsed, it returns the text.
func normalRule(text string) string {
	a, issues := celenv.Stored().Parse(text, common.NewTextSource(text))
	if issues.Err() != nil || a == nil {
		return text
	}
	n := normalizer{}
	n.expr(a.NativeRep().Expr())
	return n.String()
}

// normalizer writes the normal form of a syntax tree.
type normalizer struct {
	strings.Builder
	variables []string // of the comprehensions around the expression
}

// text returns the normal form of an expression inside of the current one.
func (n *normalizer) text(e ast.Expr) string {
	inner := normalizer{variables: n.variables}
	inner.expr(e)
	return inner.String()
}

// list writes a name and the normal forms of expressions.
func (n *normalizer) list(name string, parts ...string) {
	n.WriteString(name + "(" + strings.Join(parts, ",") + ")")
}

// texts returns the normal forms of expressions.
func (n *normalizer) texts(list []ast.Expr) (all []string) {
	for _, e := range list {
		all = append(all, n.text(e))
	}
	return all
}

func (n *normalizer) expr(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		n.ident(e.AsIdent())
	case ast.LiteralKind:
		v := e.AsLiteral()
		fmt.Fprintf(n, "%s %q", v.Type().TypeName(), fmt.Sprint(v.Value()))
	case ast.SelectKind:
		s := e.AsSelect()
		n.list(fmt.Sprintf("select %q %t", s.FieldName(), s.IsTestOnly()), n.text(s.Operand()))
	case ast.CallKind:
		n.call(e)
	case ast.ListKind:
		l := e.AsList()
		n.list(fmt.Sprint("list ", l.OptionalIndices()), n.texts(l.Elements())...)
	case ast.MapKind:
		var entries []string
		for _, m := range e.AsMap().Entries() {
			entry := m.AsMapEntry()
			entries = append(entries, fmt.Sprint(n.text(entry.Key()), ":", n.text(entry.Value()), entry.IsOptional()))
		}
		n.list("map", entries...)
	case ast.StructKind:
		s := e.AsStruct()
		var fields []string
		for _, f := range s.Fields() {
			field := f.AsStructField()
			fields = append(fields, fmt.Sprint(field.Name(), ":", n.text(field.Value()), field.IsOptional()))
		}
		n.list("struct "+s.TypeName(), fields...)
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		inner := normalizer{variables: slices.Concat(n.variables, []string{c.IterVar(), c.IterVar2(), c.AccuVar()})}
		result := normalizer{variables: slices.Concat(n.variables, []string{c.AccuVar()})}
		n.list(fmt.Sprint("fold ", c.HasIterVar2()), n.text(c.IterRange()), n.text(c.AccuInit()),
			inner.text(c.LoopCondition()), inner.text(c.LoopStep()), result.text(c.Result()))
	default:
		n.WriteString("?")
	}
}

// ident writes the distance of a variable to its comprehension, or its name.
func (n *normalizer) ident(name string) {
	for i := len(n.variables) - 1; i >= 0; i-- {
		if n.variables[i] == name {
			fmt.Fprintf(n, "#%d", len(n.variables)-i)
			return
		}
	}
	n.WriteString(name)
}

func (n *normalizer) call(e ast.Expr) {
	c := e.AsCall()
	switch name := c.FunctionName(); name {
	case operators.LogicalAnd, operators.LogicalOr:
		operands := n.texts(flat(name, e))
		slices.Sort(operands)
		n.list(name, operands...)
	case operators.Equals, operators.NotEquals:
		operands := n.texts(c.Args())
		slices.Sort(operands)
		n.list(name, operands...)
	case operators.Greater, operators.GreaterEquals:
		operands := n.texts(c.Args())
		slices.Reverse(operands)
		n.list(map[string]string{operators.Greater: operators.Less, operators.GreaterEquals: operators.LessEquals}[name], operands...)
	default:
		operands := n.texts(c.Args())
		if c.IsMemberFunction() {
			name, operands = "."+name, append([]string{n.text(c.Target())}, operands...)
		}
		n.list(name, operands...)
	}
}

// flat returns the operands of nested calls of one operator.
func flat(operator string, e ast.Expr) (all []ast.Expr) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return []ast.Expr{e}
	}
	for _, operand := range e.AsCall().Args() {
		all = append(all, flat(operator, operand)...)
	}
	return all
}
