package rule

import (
	"slices"
	"unicode"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// exprTexts are the sub-expressions of an expression that people wrote: not what macros made of them, and no literals.
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
	t := &exprTexts{info: a.SourceInfo(), source: []rune(source), exprs: map[int64]ast.Expr{}, known: map[int64]exprText{}}
	t.collect(a.Expr(), nil)
	return t
}

// collect adds the expression and those below. Those that a macro made have its place, and its variable is among their operands or is what they are.
func (t *exprTexts) collect(e ast.Expr, within []macro) {
	switch e.Kind() {
	case ast.LiteralKind:
		return
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			t.collect(call.Target(), within)
		}
		t.collectAll(call.Args(), within)
	case ast.SelectKind:
		t.collect(e.AsSelect().Operand(), within)
	case ast.ListKind:
		t.collectAll(e.AsList().Elements(), within)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			t.collect(entry.AsMapEntry().Key(), within)
			t.collect(entry.AsMapEntry().Value(), within)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		t.collect(c.IterRange(), within)
		inside := slices.Concat(within, []macro{{t.place(e), c.AccuVar()}})
		t.collect(c.LoopStep(), inside)
		t.collect(c.Result(), inside)
		if _, ok := t.info.GetMacroCall(e.ID()); !ok {
			return
		}
	}
	for _, m := range within {
		if t.place(e) == m.at || e.Kind() == ast.IdentKind && e.AsIdent() == m.variable {
			return
		}
	}
	t.exprs[e.ID()] = e
}

func (t *exprTexts) collectAll(list []ast.Expr, within []macro) {
	for _, e := range list {
		t.collect(e, within)
	}
}

// macro is a comprehension that a macro stands for: where, and the variable that it made.
type macro struct {
	at       int
	variable string
}

func (t *exprTexts) shown(id int64) bool { return t.exprs[id] != nil }

// of is the text of a sub-expression as it was written, cut if it is long, and where it begins, in code points.
func (t *exprTexts) of(id int64) (string, int) {
	if known, ok := t.known[id]; ok {
		return known.text, known.offset
	}
	e := t.exprs[id]
	from, to := t.balanced(t.begin(e), t.end(e))
	known := exprText{offset: from}
	if from >= 0 && to > from {
		known.text = cut(string(t.source[from:to]))
	} else if text, err := parser.Unparse(e, t.info, parser.WrapOnColumn(1<<20)); err == nil {
		known.text = cut(text)
	}
	t.known[id] = known
	return known.text, known.offset
}

// place is where cel-go says that an expression stands: its operator, or the opening parenthesis of a call; -1 if it does not.
func (t *exprTexts) place(e ast.Expr) int {
	if r, ok := t.info.GetOffsetRange(e.ID()); ok && int(r.Start) < len(t.source) {
		return int(r.Start)
	}
	return -1
}

// written is the expression as it was written: the call of the macro for what a macro made.
func (t *exprTexts) written(e ast.Expr) ast.Expr {
	if call, ok := t.info.GetMacroCall(e.ID()); ok {
		return call
	}
	return e
}

// begin is where an expression begins, -1 if that cannot be told.
func (t *exprTexts) begin(e ast.Expr) int {
	at := t.place(e)
	switch e := t.written(e); e.Kind() {
	case ast.SelectKind:
		return t.begin(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		switch {
		case call.IsMemberFunction():
			return t.begin(call.Target())
		case isName(call.FunctionName()):
			return t.before(at, len([]rune(call.FunctionName())))
		case len(call.Args()) > 1:
			return t.begin(call.Args()[0])
		}
	}
	return at
}

// before steps back over white space and n runes.
func (t *exprTexts) before(at, n int) int {
	for at > 0 && unicode.IsSpace(t.source[at-1]) {
		at--
	}
	return max(-1, at-n)
}

// end is behind the last rune of an expression, -1 if that cannot be told.
func (t *exprTexts) end(e ast.Expr) int {
	at := t.place(e)
	if at < 0 {
		return -1
	}
	switch written := t.written(e); written.Kind() {
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
		case call.IsMemberFunction(), isName(name), name == operators.Index, name == operators.OptIndex:
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

// endOfLiteral is behind a text or a number.
func (t *exprTexts) endOfLiteral(at int) int {
	for i := at; i < len(t.source) && i < at+3; i++ {
		if c := t.source[i]; c == '"' || c == '\'' {
			return t.endOfString(i)
		}
	}
	if at < len(t.source) && t.source[at] == '-' {
		at++
	}
	for at < len(t.source) && (isNameRune(t.source[at]) || t.source[at] == '.' ||
		(t.source[at] == '-' || t.source[at] == '+') && (t.source[at-1] == 'e' || t.source[at-1] == 'E')) {
		at++
	}
	return at
}

// endOfString is behind a text whose quotation mark stands at i.
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

// endOfBrackets is behind the bracket that closes the first one from at on.
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

// balanced takes the parentheses in that a part of the expression stands in: (a || b) && c begins at the parenthesis.
func (t *exprTexts) balanced(from, to int) (int, int) {
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

// isName: the function is called by its name, not an operator.
func isName(function string) bool {
	_, operator := operators.FindReverse(function)
	return !operator && function != operators.Conditional && function != operators.Index && function != operators.OptIndex && function != operators.OptSelect
}
