package sample

import (
	"math/big"
	"math/bits"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// mostLengthWork bounds the search for strings of a length, in words of the sets that it computes. This much work takes
// some milliseconds.
const mostLengthWork = 1 << 22

// sized returns a string of lo to hi runes that probably matches, or "" if it finds no such string soon. It
// ignores anchors, so the caller checks the string.
func (e *expression) sized(r Random, lo, hi int, readable bool) string {
	w := e.writer(r, 0, 0, 0, readable)
	hi = min(hi, w.left/2)
	s := sizer{patternWriter: w, most: hi, work: mostLengthWork, known: map[*syntax.Regexp]*big.Int{}}
	possible := s.lengths(e.syntax)
	var wanted []int
	for n := hi; n >= 0 && s.work > 0; n-- {
		if possible.Bit(n) == 1 {
			if wanted = append(wanted, n); n <= lo {
				break // strings of this length are padded
			}
		}
	}
	if len(wanted) == 0 {
		return ""
	}
	if len(wanted) > 1 && wanted[len(wanted)-1] < lo {
		wanted = wanted[:len(wanted)-1]
	}
	if s.write(e.syntax, pick(r, wanted)); s.work <= 0 || s.left < 0 {
		return ""
	}
	text := s.b.String()
	padding := strings.Repeat("a", max(0, lo-utf8.RuneCountInString(text)))
	if r.chance(50) {
		return padding + text
	}
	return text + padding
}

// sizer writes strings of a wanted length. A set of lengths is a number: bit n stands for n runes.
type sizer struct {
	*patternWriter
	most, work int
	known      map[*syntax.Regexp]*big.Int
}

// lengths returns the possible lengths of the strings of an expression.
func (s *sizer) lengths(re *syntax.Regexp) *big.Int {
	if known := s.known[re]; known != nil {
		return known
	}
	var set *big.Int
	switch re.Op {
	case syntax.OpNoMatch:
		set = new(big.Int)
	case syntax.OpLiteral:
		set = s.one(len(re.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		set = s.one(1)
	case syntax.OpCapture, syntax.OpConcat:
		set = s.rest(re.Sub)
	case syntax.OpAlternate:
		set = new(big.Int)
		for _, sub := range re.Sub {
			set.Or(set, s.lengths(sub))
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, most := repetitions(re)
		set = s.repeated(s.lengths(re.Sub[0]), least, most)
	default: // anchors and the empty string
		set = s.one(0)
	}
	s.known[re] = set
	return set
}

// repetitions returns the bounds of a repetition. most is -1 without a bound.
func repetitions(re *syntax.Regexp) (least, most int) {
	switch re.Op {
	case syntax.OpStar:
		return 0, -1
	case syntax.OpPlus:
		return 1, -1
	case syntax.OpQuest:
		return 0, 1
	}
	return re.Min, re.Max
}

// one returns the set of one length, which is empty beyond the bound.
func (s *sizer) one(n int) *big.Int {
	if n > s.most {
		return new(big.Int)
	}
	return new(big.Int).SetBit(new(big.Int), n, 1)
}

// rest returns the lengths of a sequence.
func (s *sizer) rest(list []*syntax.Regexp) *big.Int {
	set := s.one(0)
	for _, re := range list {
		set = s.sum(set, s.lengths(re))
	}
	return set
}

// sum returns the sums of the lengths of two sets.
func (s *sizer) sum(a, b *big.Int) *big.Int {
	set, shifted := new(big.Int), new(big.Int)
	for n := int(a.TrailingZeroBits()); n < a.BitLen() && s.work > 0; n++ {
		if a.Bit(n) == 1 {
			set.Or(set, shifted.Lsh(b, uint(n)))
			s.work -= 1 + len(b.Bits())
		}
	}
	mask := new(big.Int).Lsh(big.NewInt(1), uint(s.most)+1)
	return set.And(set, mask.Sub(mask, big.NewInt(1)))
}

// repeated returns the lengths of least to most repetitions. most is -1 without a bound.
func (s *sizer) repeated(of *big.Int, least, most int) *big.Int {
	optional := new(big.Int).SetBit(of, 0, 1)
	if most < 0 || most-least > s.most {
		most = least + s.most
	}
	return s.sum(s.power(of, min(least, s.most+1)), s.power(optional, most-least))
}

// power returns the sums of n lengths of a set.
func (s *sizer) power(of *big.Int, n int) *big.Int {
	set := s.one(0)
	for i := bits.Len(uint(n)) - 1; i >= 0; i-- {
		if set = s.sum(set, set); n>>i&1 == 1 {
			set = s.sum(set, of)
		}
	}
	return set
}

// write writes a string of n runes. n is one of the lengths of the expression.
func (s *sizer) write(re *syntax.Regexp, n int) {
	if s.work--; s.work <= 0 {
		return
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpConcat:
		for i, sub := range re.Sub {
			k := s.split(s.lengths(sub), s.rest(re.Sub[i+1:]), 0, n)
			s.write(sub, k)
			n -= k
		}
	case syntax.OpAlternate:
		var fitting []*syntax.Regexp
		for _, sub := range re.Sub {
			if s.lengths(sub).Bit(n) == 1 {
				fitting = append(fitting, sub)
			}
		}
		if len(fitting) > 0 {
			s.write(pick(s.r, fitting), n)
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		sub := re.Sub[0]
		of := s.lengths(sub)
		least, most := repetitions(re)
		for n > 0 && s.work > 0 {
			var k int
			if of.BitLen() == 2 { // one rune, or none
				k = 1
			} else {
				least, most = max(least-1, 0), max(most-1, -1)
				k = s.split(of, s.repeated(of, least, most), 1, n)
			}
			s.write(sub, k)
			n -= k
		}
	default:
		s.patternWriter.write(re)
	}
}

// split returns a length of at least lo in the first set, such that the rest of n is in the second set.
func (s *sizer) split(first, second *big.Int, lo, n int) int {
	var fitting []int
	for k := lo; k <= n; k++ {
		if first.Bit(k) == 1 && second.Bit(n-k) == 1 {
			fitting = append(fitting, k)
		}
	}
	s.work -= n
	if len(fitting) == 0 {
		s.work = 0 // the search was aborted
		return n
	}
	return pick(s.r, fitting)
}
