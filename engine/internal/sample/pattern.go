package sample

import (
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/crdeval/crdeval/engine/internal/pattern"
)

// expression is a regular expression of a schema.
type expression struct {
	*pattern.Pattern
	syntax *syntax.Regexp // nil until it is needed
}

func newExpression(text string) *expression { return &expression{Pattern: pattern.Intern(text)} }

// Bounds of the strings of a pattern.
const (
	mostSteps     = 1 << 14 // of the writer; a rune takes one at least
	mostMatchWork = 1 << 19 // to match a string, in steps: some milliseconds
)

// text returns a string that probably matches, or "" for a pattern whose strings take long to make or to match. It
// ignores anchors, so the caller checks the string. lo and hi are the wanted bounds of its length.
func (e *expression) text(r Random, lo, hi, try int, readable bool) string {
	w := e.writer(r, lo, hi, try, readable)
	if w.write(e.syntax); w.left < 0 {
		return ""
	}
	return w.b.String()
}

// writer parses the expression and returns a writer of its strings.
func (e *expression) writer(r Random, lo, hi, try int, readable bool) *patternWriter {
	if e.syntax == nil {
		var err error
		if e.syntax, err = syntax.Parse(e.Source, syntax.Perl); err != nil {
			e.syntax = &syntax.Regexp{Op: syntax.OpEmptyMatch}
		}
	}
	return &patternWriter{r: r, lo: lo, hi: hi, plain: try > 2 || r.chance(80), short: try%3 == 2, readable: readable,
		left: int(min(mostSteps, mostMatchWork/e.Work()))}
}

type patternWriter struct {
	r      Random
	b      strings.Builder
	lo, hi int
	plain  bool // prefers letters and digits
	short  bool // repeats as little as possible
	left   int  // steps
	// readable: no control characters
	readable bool
}

func (w *patternWriter) write(re *syntax.Regexp) {
	if w.left--; w.left < 0 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		w.left -= len(re.Rune)
		for _, c := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 && w.r.chance(50) {
				c = unicode.SimpleFold(c)
			}
			w.b.WriteRune(c)
		}
	case syntax.OpCharClass:
		w.b.WriteRune(w.class(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.b.WriteRune(pick(w.r, []rune("abcxyz019-é")))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.write(pick(w.r, re.Sub))
	case syntax.OpStar:
		w.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		w.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		w.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		w.repeat(re.Sub[0], re.Min, re.Max)
	}
}

// repeat writes repetitions of a part. The length of the whole string is at most hi, as far as the expression allows
// it.
func (w *patternWriter) repeat(sub *syntax.Regexp, least, most int) {
	want := w.r.between(least, least+3)
	if w.short {
		want = least
	}
	if most < 0 {
		most = least + 1<<12
	}
	want = min(want, most)
	single := sub.Op == syntax.OpCharClass || sub.Op == syntax.OpAnyCharNotNL || sub.Op == syntax.OpAnyChar
	if single && w.b.Len() < w.lo {
		want = min(max(want, w.lo-w.b.Len()), most)
	}
	for k := range want {
		if k >= least && w.b.Len() >= w.hi || w.left < 0 {
			return
		}
		w.write(sub)
	}
}

// class returns a rune of a character class.
func (w *patternWriter) class(ranges []rune) rune {
	if w.plain || w.readable {
		if c, ok := w.alphanumeric(ranges); ok {
			return c
		}
	}
	for i := 0; w.readable && i+1 < len(ranges); i += 2 {
		if ranges[i] <= ' ' && ' ' <= ranges[i+1] {
			return ' '
		}
	}
	i := w.r.IntN(len(ranges)/2) * 2
	lo, hi := ranges[i], ranges[i+1]
	if lo < ' ' && hi >= ' ' {
		lo = ' '
	}
	if lo <= 0x7e && hi > 0x7e {
		hi = 0x7e
	}
	return lo + rune(w.r.IntN(int(min(hi-lo, 200))+1))
}

// alphanumeric returns a letter or digit of a class.
func (w *patternWriter) alphanumeric(ranges []rune) (rune, bool) {
	const all = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	start := w.r.IntN(len(all))
	for k := range all {
		c := rune(all[(start+k)%len(all)])
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] {
				return c, true
			}
		}
	}
	return 0, false
}
