package sample

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"text/scanner"

	"k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Hint has names of fields, and strings and numbers to which rules compare these fields. The zero Hint is empty.
type Hint struct {
	names   []string
	texts   []string
	numbers []Tree
	pattern string // the literal in the first call of matches
}

// AddNames adds names of fields.
func (h *Hint) AddNames(names ...string) { h.names = append(h.names, names...) }

// AddValue adds a string or a number, given as JSON. It ignores other values.
func (h *Hint) AddValue(text string) {
	if s := ""; json.Unmarshal([]byte(text), &s) == nil {
		h.addText(s)
	} else {
		h.addNumber(text)
	}
}

// addText adds a string. If it has the form of a number, it adds the number, too.
func (h *Hint) addText(s string) {
	h.texts = append(h.texts, s)
	h.addNumber(s)
}

// addNumber adds a number. It also adds the integers next to an integer, because the number may be a bound.
func (h *Hint) addNumber(s string) {
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		for _, n := range []int64{i, i - 1, i + 1} {
			h.numbers = append(h.numbers, Tree{Kind: tree.Int, Text: strconv.FormatInt(n, 10)})
		}
	} else if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		h.numbers = append(h.numbers, *number(f))
	}
}

func (h *Hint) isEmpty() bool { return len(h.texts)+len(h.numbers) == 0 }

// AddExpression adds the names and literals in a CEL expression, without checking it.
func (h *Hint) AddExpression(expression string) {
	var s scanner.Scanner
	s.Init(strings.NewReader(expression))
	s.Error = func(*scanner.Scanner, string) {} // strings in single quotes are errors in Go
	last, before := "", ""                      // tokens
	for t := s.Scan(); t != scanner.EOF; t = s.Scan() {
		token := s.TokenText()
		switch t {
		case scanner.Ident:
			h.AddNames(token)
			if name, ok := cel.Unescape(token); ok && name != token {
				h.AddNames(name)
			}
		case scanner.Int, scanner.Float:
			if h.addNumber(token); last == "-" {
				h.addNumber("-" + token)
			}
		case scanner.String, scanner.Char:
			switch text := unquoted(token, last == "r" || last == "R"); {
			case last == "(" && before == "matches":
				h.pattern = cmp.Or(h.pattern, text)
			case last == "[": // self['name'], or a list
				h.AddNames(text)
				fallthrough
			default:
				h.addText(text)
			}
		}
		last, before = token, last
	}
}

// unquoted returns the content of a string literal.
func unquoted(literal string, raw bool) string {
	content := literal[1:max(len(literal)-1, 1)]
	if raw {
		return content
	}
	var b strings.Builder
	for rest := content; rest != ""; {
		c, _, after, err := strconv.UnquoteChar(rest, literal[0])
		if err != nil { // an escape that only CEL has, such as \?
			return content
		}
		b.WriteRune(c)
		rest = after
	}
	return b.String()
}

// scope has the hints for a part of a schema.
type scope struct {
	outer *scope
	hints map[string][]*Hint // by the names of fields
	known map[string]*Hint   // by rules of the whole schema
}

// hint returns the hint of a rule.
func (s *scope) hint(rule string) *Hint {
	h, ok := s.known[rule]
	if !ok {
		h = &Hint{}
		h.AddExpression(rule)
		s.known[rule] = h
	}
	return h
}

// with returns the scope inside of s with further hints.
func (s *scope) with(hints []*Hint) *scope {
	if len(hints) == 0 {
		return s
	}
	in := &scope{outer: s, hints: map[string][]*Hint{}, known: s.known}
	for _, h := range hints {
		for _, name := range h.names {
			if list := in.hints[name]; !h.isEmpty() && (len(list) == 0 || list[len(list)-1] != h) {
				in.hints[name] = append(list, h)
			}
		}
	}
	return in
}

// find returns the hints for a field.
func (s *scope) find(name string) (found []*Hint) {
	for ; s != nil; s = s.outer {
		found = append(found, s.hints[name]...)
	}
	return found
}

// hintedText returns in some cases a string of a hint, which may be a part of a longer string.
func (n *node) hintedText(r Random) (s string, ok bool) {
	if len(n.hints) == 0 || !r.chance(30) {
		return "", false
	}
	texts := pick(r, n.hints).texts
	if len(texts) == 0 {
		return "", false
	}
	if s = pick(r, texts); r.chance(10) {
		s = "a" + s + "b"
	}
	return s, true
}

// hintedNumber returns in some cases a number of a hint, else nil.
func (n *node) hintedNumber(r Random) *Tree {
	if len(n.hints) == 0 || !r.chance(30) {
		return nil
	}
	numbers := pick(r, n.hints).numbers
	if len(numbers) == 0 {
		return nil
	}
	t := pick(r, numbers)
	return &t
}
