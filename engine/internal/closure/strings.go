package closure

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/internal/pattern"
)

// longText is the length from which on operations on texts poll.
const longText = 1 << 16

// affix compiles startsWith and endsWith, which cost a tenth of the affix.
func affix(_ *compiler, k callee, args []*expr) *expr {
	if k.overload == "" || args[0].shape.kind != kindString || args[1].shape.kind != kindString {
		return nil
	}
	has := strings.HasPrefix
	if k.name == "endsWith" {
		has = strings.HasSuffix
	}
	l, r := args[0].val(), args[1].val()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		s, ok := l(f)
		t, also := r(f)
		f.Cost += TraversalCost(t.chars())
		return has(s.text(), t.text()), ok && also && s.is(kindString) && t.is(kindString)
	}}
}

// containing compiles contains of strings, which costs a tenth of one times a tenth of the other.
func containing(_ *compiler, k callee, args []*expr) *expr {
	if k.overload != "contains_string" {
		return nil
	}
	l, r := args[0].val(), args[1].val()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		s, ok := l(f)
		t, also := r(f)
		if !ok || !also || !s.is(kindString) || !t.is(kindString) {
			return false, false
		}
		f.Cost += TraversalCost(s.chars()) * TraversalCost(t.chars())
		if f.Cost > f.Limit || len(s.text()) > longText && f.Stop.Stopped() {
			return false, false
		}
		return strings.Contains(s.text(), t.text()), true
	}}
}

// matching compiles matches with a constant pattern.
func matching(_ *compiler, k callee, args []*expr) *expr {
	if k.overload == "" {
		return nil
	}
	match := withPattern(args, func(f *Frame, p *pattern.Pattern, s string) (bool, bool) { return p.Match(s, f.Stop) })
	if match == nil {
		return nil
	}
	return &expr{shape: boolShape, b: match}
}

// finding compiles find with a constant pattern.
func finding(_ *compiler, _ callee, args []*expr) *expr {
	find := withPattern(args, func(_ *Frame, p *pattern.Pattern, s string) (val, bool) {
		re, err := p.Regexp()
		if err != nil || len(s) >= longSearch {
			return val{}, false
		}
		return stringVal(re.FindString(s)), true
	})
	if find == nil {
		return nil
	}
	return &expr{shape: stringShape, v: find}
}

// withPattern applies a function to a string and a constant pattern. It returns nil for other operands.
func withPattern[T any](args []*expr, do func(*Frame, *pattern.Pattern, string) (T, bool)) func(*Frame) (T, bool) {
	if len(args) != 2 || !args[1].isConst || args[0].shape.kind != kindString || args[1].constant.kind != kindString {
		return nil
	}
	text := args[1].constant.text()
	p, l := pattern.Intern(text), args[0].val()
	patternSize := uint64(utf8.RuneCountInString(text))
	return func(f *Frame) (none T, _ bool) {
		s, ok := l(f)
		f.Cost += MatchCost(s.chars(), patternSize)
		if !ok || !s.is(kindString) || f.Cost > f.Limit {
			return none, false
		}
		return do(f, p, s.text())
	}
}

// longSearch is the length from which on the fallback searches: package regexp is slow and cannot be interrupted.
const longSearch = 1 << 12

// durationOf compiles duration of a string.
func durationOf(_ *compiler, k callee, args []*expr) *expr {
	if args[0].shape.kind != kindString {
		return nil
	}
	return &expr{shape: k.result, v: unary(args[0].val(), func(s val) (val, bool) {
		d, err := time.ParseDuration(s.text())
		return durationVal(d), err == nil && s.is(kindString)
	})}
}

// size compiles size, which costs 1.
func size(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 {
		return nil
	}
	v := args[0].val()
	return &expr{shape: intShape, v: func(f *Frame) (val, bool) {
		r, ok := v(f)
		f.Cost++
		if !ok || r.opt {
			return val{}, false
		}
		switch r.kind {
		case kindString, kindBytes, kindNode, kindList:
			return intVal(int64(f.size(r))), true
		}
		return val{}, false
	}}
}
