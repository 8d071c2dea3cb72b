package generate

import (
	"regexp/syntax"
	"strings"
)

// sample returns a string that probably matches a regular expression. It ignores anchors, so check the result.
func sample(r Rand, expr string) (string, bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	sampleInto(r, re.Simplify(), &b, 200)
	return b.String(), true
}

func sampleInto(r Rand, re *syntax.Regexp, b *strings.Builder, budget int) {
	if b.Len() > budget {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			b.WriteRune(c)
		}
	case syntax.OpCharClass:
		if len(re.Rune) >= 2 {
			i := r.IntN(len(re.Rune)/2) * 2
			lo, hi := re.Rune[i], re.Rune[i+1]
			b.WriteRune(lo + rune(r.IntN(int(min(hi-lo, 40))+1)))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			sampleInto(r, sub, b, budget)
		}
	case syntax.OpAlternate:
		sampleInto(r, Pick(r, re.Sub), b, budget)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		lo, hi := 0, 3
		switch re.Op {
		case syntax.OpPlus:
			lo = 1
		case syntax.OpQuest:
			hi = 1
		case syntax.OpRepeat:
			lo, hi = re.Min, max(re.Min, min(re.Max, re.Min+3))
		}
		for range r.Between(lo, hi) {
			sampleInto(r, re.Sub[0], b, budget)
		}
	}
}
