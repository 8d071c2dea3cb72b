package trace

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// exprTexts are the texts of the sub-expressions as they were written, without literals and without what macros expand
// to.
type exprTexts struct {
	info    *ast.SourceInfo
	source  []rune
	tokens  []token
	byStart map[int]int // indexes of tokens
	exprs   map[int64]ast.Expr
	known   map[int64]exprText
}

type exprText struct {
	text   string
	offset int
}

func newExprTexts(a *ast.AST, source string) *exprTexts {
	t := &exprTexts{info: a.SourceInfo(), source: []rune(source), exprs: map[int64]ast.Expr{}, known: map[int64]exprText{}}
	t.tokens, t.byStart = tokenize(source)
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
	known := exprText{offset: -1}
	if from, to, ok := t.span(e); ok {
		known = exprText{truncate(string(t.source[t.tokens[from].start:t.tokens[to-1].end])), t.tokens[from].start}
	} else if text, err := parser.Unparse(e, t.info, parser.WrapOnColumn(1<<20)); err == nil {
		known.text = truncate(text)
	}
	t.known[id] = known
	return known.text, known.offset
}

// token is a token of CEL.
type token struct {
	start, end int // in code points
	text       string
	match      int // of a bracket: the token of the other one, or -1
}

var tokens = regexp.MustCompile(`//.*|[bB]?[rR][bB]?(?:"""(?s:.*?)"""|'''(?s:.*?)'''|"[^"]*"|'[^']*')|` +
	`[bB]?(?:"""(?s:\\.|.)*?"""|'''(?s:\\.|.)*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|` +
	`\.?[0-9](?:[eE][+-]|[\w.])*|[\pL_][\pL\d_]*|\x60[^\x60]*\x60|\S`)

// tokenize splits a source into tokens and pairs the brackets.
func tokenize(source string) (list []token, byStart map[int]int) {
	byStart = map[int]int{}
	var open []int
	runes, bytes := 0, 0
	for _, at := range tokens.FindAllStringIndex(source, -1) {
		runes += utf8.RuneCountInString(source[bytes:at[0]])
		k := token{start: runes, text: source[at[0]:at[1]], match: -1}
		runes += utf8.RuneCountInString(k.text)
		k.end, bytes = runes, at[1]
		switch k.text {
		case "(", "[", "{":
			open = append(open, len(list))
		case ")", "]", "}":
			if len(open) > 0 {
				k.match, open = open[len(open)-1], open[:len(open)-1]
				list[k.match].match = len(list)
			}
		}
		if !strings.HasPrefix(k.text, "//") {
			byStart[k.start] = len(list)
			list = append(list, k)
		}
	}
	return list, byStart
}

// position returns cel-go's position of an expression: its operator, or the opening parenthesis of a call; -1 if
// unknown.
func (t *exprTexts) position(e ast.Expr) int {
	if r, ok := t.info.GetOffsetRange(e.ID()); ok && int(r.Start) < len(t.source) {
		return int(r.Start)
	}
	return -1
}

// span returns the tokens of an expression, from its first one to the one behind its last. ok is false if they are
// unknown.
func (t *exprTexts) span(e ast.Expr) (from, to int, ok bool) {
	at, ok := t.byStart[t.position(e)]
	if !ok {
		return 0, 0, false
	}
	from, to = at, at+1
	if written, ok := t.info.GetMacroCall(e.ID()); ok {
		e = written
	}
	var parts []ast.Expr
	bracketed := false // the expression ends with the first bracket behind at
	switch e.Kind() {
	case ast.LiteralKind:
		if t.tokens[at].text == "-" {
			to++
		}
	case ast.SelectKind:
		parts, to = []ast.Expr{e.AsSelect().Operand()}, at+2 // the dot and the name
	case ast.ListKind, ast.MapKind:
		bracketed = true
	case ast.CallKind:
		call := e.AsCall()
		switch name := call.FunctionName(); {
		case call.IsMemberFunction():
			parts, bracketed = []ast.Expr{call.Target()}, true
		case hasName(name):
			bracketed = true
			from -= 2*strings.Count(name, ".") + 1
		case name == operators.Index, name == operators.OptIndex:
			parts, bracketed = call.Args()[:1], true
		default:
			parts = call.Args()
		}
	}
	for bracketed {
		if at == len(t.tokens) {
			return 0, 0, false
		}
		bracketed, to = t.tokens[at].match <= at, t.tokens[at].match+1
		at++
	}
	for _, part := range parts {
		first, last, ok := t.span(part)
		if !ok {
			return 0, 0, false
		}
		from, to = min(from, first), max(to, last)
	}
	if from < 0 || to > len(t.tokens) {
		return 0, 0, false
	}
	for i := from; i < to; i++ { // parentheses around parts: (a || b) && c
		if m := t.tokens[i].match; m >= to {
			to = m + 1
		} else if m >= 0 && m < from {
			from = m
		}
	}
	return from, to, true
}

// hasName reports whether a function is called by its name and is not an operator.
func hasName(function string) bool {
	_, operator := operators.FindReverse(function)
	return !operator && function != operators.Conditional && function != operators.Index &&
		function != operators.OptIndex && function != operators.OptSelect
}
