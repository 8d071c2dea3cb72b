// Package celparse parses ordinary CEL expressions. The result equals that of cel-go's parser, with its ids and
// positions, and takes a tenth of the time. It leaves the following to cel-go's parser: syntax
// errors, text beyond ASCII, comments, optional fields and elements, messages, bytes, numbers other than decimal
// integers, and deep nesting. The code calls this a doubt.
//
// scan.go splits the text into tokens, parse.go has the grammar, and macro.go expands macros.
package celparse

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"
)

// Parser parses expressions with the macros of an environment. It is immutable.
type Parser struct{ macros map[macroKey]parser.Macro }

// New returns a Parser with macros.
func New(macros []parser.Macro) *Parser {
	p := &Parser{macros: map[macroKey]parser.Macro{}}
	for _, m := range macros {
		p.macros[keyOf(m)] = m
	}
	return p
}

// Parse parses the text of a source. It returns nil if cel-go's parser must parse it.
func (p *Parser) Parse(text string, source common.Source) (parsed *ast.AST) {
	if len(text) > longestText || !isASCII(text) {
		return nil
	}
	s := state{scanner: scanner{text: text}, macros: p.macros, info: ast.NewSourceInfo(source), next: 1}
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case doubt:
			parsed = nil
		default:
			panic(r)
		}
	}()
	s.advance()
	e := s.expr()
	s.expect(end)
	return ast.NewAST(e, s.info)
}

// longestText is below the length that cel-go's parser accepts, 100,000 code points.
const longestText = 50_000

// doubt is the panic value that ends a parse. cel-go's parser then parses the expression.
type doubt struct{}

// state is the state of one parse.
type state struct {
	scanner
	macros map[macroKey]parser.Macro
	info   *ast.SourceInfo
	next   int64 // the next id
	nested int   // an upper bound of the depth of cel-go's parser
}

// mostNested is below cel-go's limit on the nesting depth.
const mostNested = 200

func (s *state) nest(levels int) {
	if s.nested += levels; s.nested > mostNested {
		panic(doubt{})
	}
}

var factory = ast.NewExprFactoryWithAccumulator(parser.HiddenAccumulatorName)

// id returns the id of a new expression at a token.
func (s *state) id(t token) int64 {
	id := s.next
	s.next++
	s.info.SetOffsetRange(id, ast.OffsetRange{Start: int32(t.start), Stop: int32(t.end)})
	return id
}

// take returns the current token and moves to the next one.
func (s *state) take() token {
	t := s.token
	s.advance()
	return t
}

func (s *state) expect(k kind) token {
	if s.kind != k {
		panic(doubt{})
	}
	return s.take()
}

func (s *state) expr() ast.Expr {
	s.nest(1)
	e := s.or()
	if s.kind != '?' {
		return e
	}
	id := s.id(s.take())
	a := s.or()
	s.expect(':')
	return factory.NewCall(id, operators.Conditional, e, a, s.expr())
}

func (s *state) or() ast.Expr  { return s.logical(or, operators.LogicalOr, (*state).and) }
func (s *state) and() ast.Expr { return s.logical(and, operators.LogicalAnd, (*state).relation) }

// logical parses operands of a logical operator, which become a balanced tree.
func (s *state) logical(operator kind, function string, operand func(*state) ast.Expr) ast.Expr {
	before := s.nested
	e := operand(s)
	if s.kind != operator {
		return e
	}
	terms, ids, deepest := []ast.Expr{e}, []int64(nil), s.nested
	for s.kind == operator {
		t := s.take()
		s.nested = before
		terms = append(terms, operand(s))
		ids = append(ids, s.id(t))
		deepest = max(deepest, s.nested)
	}
	s.nested = deepest
	return balanced(function, terms, ids)
}

func balanced(function string, terms []ast.Expr, ids []int64) ast.Expr {
	if len(terms) == 1 {
		return terms[0]
	}
	i := len(ids) / 2
	left, right := balanced(function, terms[:i+1], ids[:i]), balanced(function, terms[i+1:], ids[i+1:])
	return factory.NewCall(ids[i], function, left, right)
}

func (s *state) relation() ast.Expr {
	return s.binary(&relations, func(s *state) ast.Expr {
		return s.binary(&sums, func(s *state) ast.Expr { return s.binary(&products, (*state).unary) })
	})
}

// functions are the functions of operators.
type functions [1 << 8]string

// The operators of each precedence.
var (
	relations = functions{
		'<': operators.Less, lessEquals: operators.LessEquals, '>': operators.Greater,
		greaterEquals: operators.GreaterEquals, equals: operators.Equals, notEquals: operators.NotEquals, in: operators.In,
	}
	sums     = functions{'+': operators.Add, '-': operators.Subtract}
	products = functions{'*': operators.Multiply, '/': operators.Divide, '%': operators.Modulo}
)

func (s *state) binary(of *functions, operand func(*state) ast.Expr) ast.Expr {
	e := operand(s)
	for {
		function := of[s.kind]
		if function == "" {
			return e
		}
		s.nest(2)
		id := s.id(s.take())
		e = factory.NewCall(id, function, e, operand(s))
	}
}

func (s *state) unary() ast.Expr {
	switch s.kind {
	case '!':
		first, odd := s.token, false
		for s.kind == '!' {
			s.advance()
			odd = !odd
		}
		if !odd {
			return s.member(s.primary())
		}
		id := s.id(first)
		return factory.NewCall(id, operators.LogicalNot, s.member(s.primary()))
	case '-':
		sign := s.take()
		if s.kind == integer {
			return s.member(s.integer(sign.start))
		}
		id := s.id(sign)
		return factory.NewCall(id, operators.Negate, s.member(s.primary()))
	}
	return s.member(s.primary())
}

// member parses selectors, calls and indexes of an expression.
func (s *state) member(e ast.Expr) ast.Expr {
	for {
		switch s.kind {
		case '.':
			s.nest(1)
			dot := s.take()
			name := strings.Clone(s.textOf(s.expect(identifier)))
			if s.kind == '(' {
				id := s.id(s.take())
				e = s.call(id, name, e, s.list(')'))
			} else {
				e = factory.NewSelect(s.id(dot), e, name)
			}
		case '[':
			s.nest(1)
			id := s.id(s.take())
			index := s.expr()
			s.expect(']')
			e = factory.NewCall(id, operators.Index, e, index)
		default:
			return e
		}
	}
}

func (s *state) primary() ast.Expr {
	switch s.kind {
	case identifier:
		t := s.take()
		name := strings.Clone(s.textOf(t))
		switch {
		case reserved[name]:
			panic(doubt{})
		case s.kind == '(':
			id := s.id(s.take())
			return s.call(id, name, nil, s.list(')'))
		}
		return factory.NewIdent(s.id(t), name)
	case '(':
		s.advance()
		e := s.expr()
		s.expect(')')
		return e
	case '[':
		id := s.id(s.take())
		return factory.NewList(id, s.list(']'), []int32{})
	case '{':
		id := s.id(s.take())
		return factory.NewMap(id, s.entries())
	case integer:
		return s.integer(s.start)
	case text:
		return s.literal(types.String(s.str))
	case isTrue:
		return s.literal(types.True)
	case isFalse:
		return s.literal(types.False)
	case null:
		return s.literal(types.NullValue)
	}
	panic(doubt{})
}

// reserved are the identifiers that cannot be variables or functions.
var reserved = map[string]bool{
	"as": true, "break": true, "const": true, "continue": true, "else": true, "for": true, "function": true, "if": true,
	"import": true, "let": true, "loop": true, "package": true, "namespace": true, "return": true, "var": true,
	"void": true, "while": true,
}

func (s *state) literal(v ref.Val) ast.Expr { return factory.NewLiteral(s.id(s.take()), v) }

// integer parses an integer, whose sign may be before its token. Its position does not include space after the sign.
func (s *state) integer(start int) ast.Expr {
	t := s.take()
	digits := s.textOf(t)
	if start != t.start {
		digits = "-" + digits
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		panic(doubt{})
	}
	return factory.NewLiteral(s.id(token{start: start, end: start + len(digits)}), types.Int(v))
}

// list parses expressions up to a closing token.
func (s *state) list(closing kind) []ast.Expr {
	list := []ast.Expr{}
	for s.kind != closing {
		if len(list) > 0 {
			s.expect(',')
		}
		list = append(list, s.expr())
	}
	s.advance()
	return list
}

// entries parses the entries of a map literal. The id of a colon precedes those of its key.
func (s *state) entries() []ast.EntryExpr {
	list := []ast.EntryExpr{}
	for s.kind != '}' {
		if len(list) > 0 {
			s.expect(',')
		}
		id := s.next
		s.next++
		key := s.expr()
		colon := s.expect(':')
		s.info.SetOffsetRange(id, ast.OffsetRange{Start: int32(colon.start), Stop: int32(colon.end)})
		list = append(list, factory.NewMapEntry(id, key, s.expr(), false))
	}
	s.advance()
	return list
}
