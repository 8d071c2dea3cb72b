package trace

import (
	"slices"
	"unicode"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// exprTexts are the texts of the sub-expressions as they were written, without literals and without what macros expand
// to.
type exprTexts struct {
	info   *ast.SourceInfo
	source []rune
	exprs  map[int64]ast.Expr
	known  map[int64]exprText
}

type exprText struct {
	text   string
	offset int
}

func newExprTexts(a *ast.AST, source string) *exprTexts {
	t := &exprTexts{
		info: a.SourceInfo(), source: []rune(source), exprs: map[int64]ast.Expr{}, known: map[int64]exprText{},
	}
	t.collect(a.Expr(), nil)
	return t
}

// macro is a comprehension that a macro expanded to: its position and its accumulator variable.
type macro struct {
	at       int
	variable string
}

// collect adds the expression and those below. An expression of a macro's expansion has the position of the macro, or
// is its variable.
func (t *exprTexts) collect(e ast.Expr, within []macro) {
	switch e.Kind() {
	case ast.LiteralKind:
		return
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			t.collect(call.Target(), within)
		}
		t.collectAll(within, call.Args()...)
	case ast.SelectKind:
		t.collect(e.AsSelect().Operand(), within)
	case ast.ListKind:
		t.collectAll(within, e.AsList().Elements()...)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			t.collectAll(within, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		t.collect(c.IterRange(), within)
		inside := slices.Concat(within, []macro{{t.position(e), c.AccuVar()}})
		t.collectAll(inside, c.LoopStep(), c.Result())
		if _, ok := t.info.GetMacroCall(e.ID()); !ok {
			return
		}
	}
	for _, m := range within {
		if t.position(e) == m.at || e.Kind() == ast.IdentKind && e.AsIdent() == m.variable {
			return
		}
	}
	t.exprs[e.ID()] = e
}

func (t *exprTexts) collectAll(within []macro, list ...ast.Expr) {
	for _, e := range list {
		t.collect(e, within)
	}
}

func (t *exprTexts) has(id int64) bool { return t.exprs[id] != nil }

// of returns the text of a sub-expression, truncated, and its offset in code points.
func (t *exprTexts) of(id int64) (string, int) {
	if known, ok := t.known[id]; ok {
		return known.text, known.offset
	}
	e := t.exprs[id]
	from, to := t.balance(t.begin(e), t.end(e))
	known := exprText{offset: from}
	if from >= 0 && to > from {
		known.text = truncate(string(t.source[from:to]))
	} else if text, err := parser.Unparse(e, t.info, parser.WrapOnColumn(1<<20)); err == nil {
		known.text = truncate(text)
	}
	t.known[id] = known
	return known.text, known.offset
}

// position returns cel-go's position of an expression: its operator, or the opening parenthesis of a call; -1 if
// unknown.
func (t *exprTexts) position(e ast.Expr) int {
	if r, ok := t.info.GetOffsetRange(e.ID()); ok && int(r.Start) < len(t.source) {
		return int(r.Start)
	}
	return -1
}

// asWritten returns the call of the macro for an expanded expression.
func (t *exprTexts) asWritten(e ast.Expr) ast.Expr {
	if call, ok := t.info.GetMacroCall(e.ID()); ok {
		return call
	}
	return e
}

// begin returns where an expression begins, -1 if unknown.
func (t *exprTexts) begin(e ast.Expr) int {
	at := t.position(e)
	switch e := t.asWritten(e); e.Kind() {
	case ast.SelectKind:
		return t.begin(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		switch {
		case call.IsMemberFunction():
			return t.begin(call.Target())
		case hasName(call.FunctionName()):
			for at > 0 && unicode.IsSpace(t.source[at-1]) {
				at--
			}
			return max(-1, at-len([]rune(call.FunctionName())))
		case len(call.Args()) > 1:
			return t.begin(call.Args()[0])
		}
	}
	return at
}

// end returns the position behind the last rune of an expression, -1 if unknown.
func (t *exprTexts) end(e ast.Expr) int {
	at := t.position(e)
	if at < 0 {
		return -1
	}
	switch written := t.asWritten(e); written.Kind() {
	case ast.IdentKind:
		return t.endOfName(at)
	case ast.SelectKind:
		for at < len(t.source) && !isNameRune(t.source[at]) {
			at++ // the dot, a question mark, white space
		}
		return t.endOfName(at)
	case ast.LiteralKind:
		return t.endOfLiteral(at)
	case ast.ListKind, ast.MapKind:
		return t.endOfBrackets(at)
	case ast.CallKind:
		call := written.AsCall()
		switch name := call.FunctionName(); {
		case call.IsMemberFunction(), hasName(name), name == operators.Index, name == operators.OptIndex:
			return t.endOfBrackets(at)
		case name == operators.OptSelect:
			return t.end(call.Args()[1])
		case len(call.Args()) > 0:
			return t.end(call.Args()[len(call.Args())-1])
		}
	}
	return -1
}

func isNameRune(r rune) bool {
	return r == '_' || r == '`' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func (t *exprTexts) endOfName(at int) int {
	for at < len(t.source) && isNameRune(t.source[at]) {
		at++
	}
	return at
}

// endOfLiteral returns the end of a string or a number.
func (t *exprTexts) endOfLiteral(at int) int {
	for i := at; i < len(t.source) && i < at+3; i++ {
		if c := t.source[i]; c == '"' || c == '\'' {
			return t.endOfString(i)
		}
	}
	if at < len(t.source) && t.source[at] == '-' {
		at++
	}
	for ; at < len(t.source); at++ {
		c := t.source[at]
		sign := (c == '-' || c == '+') && (t.source[at-1] == 'e' || t.source[at-1] == 'E')
		if !isNameRune(c) && c != '.' && !sign {
			break
		}
	}
	return at
}

// endOfString returns the end of the string whose opening quotation mark is at i.
func (t *exprTexts) endOfString(i int) int {
	quote, raw := t.source[i], i > 0 && (t.source[i-1] == 'r' || t.source[i-1] == 'R')
	marks := 1
	if i+2 < len(t.source) && t.source[i+1] == quote && t.source[i+2] == quote {
		marks = 3
	}
	for j := i + marks; j+marks <= len(t.source); j++ {
		switch {
		case t.source[j] == '\\' && !raw:
			j++
		case t.source[j] == quote && (marks == 1 || t.source[j+1] == quote && t.source[j+2] == quote):
			return j + marks
		}
	}
	return len(t.source)
}

// endOfBrackets returns the end of the first pair of brackets from at on, -1 if it is not closed.
func (t *exprTexts) endOfBrackets(at int) int {
	depth := 0
	for ; at < len(t.source); at++ {
		switch t.source[at] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return at + 1
			}
		case '"', '\'':
			at = t.endOfString(at) - 1
		}
	}
	return -1
}

// balance extends a range to the parentheses around its parts: (a || b) && c begins at the parenthesis.
func (t *exprTexts) balance(from, to int) (int, int) {
	if from < 0 || to <= from {
		return from, -1
	}
	for {
		open := 0
		for i := from; i < to; i++ {
			switch t.source[i] {
			case '(':
				open++
			case ')':
				open--
			case '"', '\'':
				i = t.endOfString(i) - 1
			}
			if open < 0 {
				break
			}
		}
		switch {
		case open < 0 && from > 0:
			for from--; from > 0 && t.source[from] != '('; from-- {
			}
		case open > 0 && to < len(t.source):
			to++
		default:
			return from, to
		}
	}
}

// hasName reports whether a function is called by its name and is not an operator.
func hasName(function string) bool {
	_, operator := operators.FindReverse(function)
	return !operator && function != operators.Conditional && function != operators.Index &&
		function != operators.OptIndex && function != operators.OptSelect
}
