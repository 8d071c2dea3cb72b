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
	l, r := args[0].str(), args[1].str()
	if args[1].isConst {
		t := args[1].constant.str()
		cost, text := tenth(t.size()), t.text
		return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
			s, ok := l(f)
			f.Cost += cost
			return has(s.text, text), ok
		}}
	}
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		s, ok := l(f)
		t, also := r(f)
		f.Cost += tenth(t.size())
		return has(s.text, t.text), ok && also
	}}
}

// containing compiles contains of strings, which costs a tenth of one times a tenth of the other.
func containing(_ *compiler, k callee, args []*expr) *expr {
	if k.overload != "contains_string" {
		return nil
	}
	l, r := args[0].str(), args[1].str()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		s, ok := l(f)
		t, also := r(f)
		f.Cost += tenth(s.size()) * tenth(t.size())
		if !ok || !also || f.Cost > f.Limit || len(s.text) > longText && f.Stop.Stopped() {
			return false, false
		}
		return strings.Contains(s.text, t.text), true
	}}
}

// matching compiles matches with a constant pattern.
func matching(_ *compiler, k callee, args []*expr) *expr {
	if k.overload == "" {
		return nil
	}
	match := withPattern(args, func(f *Frame, p *pattern.Pattern, s str) (bool, bool) { return p.Match(s.text, f.Stop) })
	if match == nil {
		return nil
	}
	return &expr{shape: boolShape, b: match}
}

// finding compiles find with a constant pattern.
func finding(_ *compiler, _ callee, args []*expr) *expr {
	find := withPattern(args, func(_ *Frame, p *pattern.Pattern, s str) (str, bool) {
		re, err := p.Regexp()
		if err != nil || len(s.text) >= longSearch {
			return str{}, false
		}
		return str{re.FindString(s.text), s.wide}, true
	})
	if find == nil {
		return nil
	}
	return &expr{shape: stringShape, s: find}
}

// withPattern applies a function to a string and a constant pattern. It returns nil for other operands.
func withPattern[T any](args []*expr, do func(*Frame, *pattern.Pattern, str) (T, bool)) func(*Frame) (T, bool) {
	if len(args) != 2 || !args[1].isConst || args[0].shape.kind != kindString || args[1].constant.kind != kindString {
		return nil
	}
	text := args[1].constant.text
	p, l := pattern.Intern(text), args[0].str()
	cost := patternCost(uint64(utf8.RuneCountInString(text)))
	return func(f *Frame) (none T, _ bool) {
		s, ok := l(f)
		f.Cost += matchCost(s.size(), cost)
		if !ok || f.Cost > f.Limit {
			return none, false
		}
		return do(f, p, s)
	}
}

// longSearch is the length from which on the fallback searches: package regexp is slow and cannot be interrupted.
const longSearch = 1 << 12

// durationOf compiles duration of a string.
func durationOf(_ *compiler, k callee, args []*expr) *expr {
	if args[0].shape.kind != kindString {
		return nil
	}
	return &expr{shape: k.result, w: unary(args[0].str(), func(s str) (uint64, bool) {
		d, err := time.ParseDuration(s.text)
		return uint64(d), err == nil
	})}
}

// size compiles size, which costs 1.
func size(_ *compiler, _ callee, args []*expr) *expr {
	x := &expr{shape: intShape}
	switch a := args[0]; {
	case len(args) != 1:
		return nil
	case a.shape.kind == kindString:
		s := a.str()
		x.w = func(f *Frame) (uint64, bool) {
			r, ok := s(f)
			f.Cost++
			return r.size(), ok
		}
	case a.count != nil:
		n := a.count
		x.w = func(f *Frame) (uint64, bool) {
			r, ok := n(f)
			f.Cost++
			return r, ok
		}
	case a.n != nil:
		n := a.n
		x.w = func(f *Frame) (uint64, bool) {
			i, ok := n(f)
			f.Cost++
			return uint64(f.Doc.Nodes[i].Live), ok
		}
	default:
		v := a.val()
		x.w = func(f *Frame) (uint64, bool) {
			r, ok := v(f)
			f.Cost++
			if !ok || r.opt {
				return 0, false
			}
			switch r.kind {
			case kindString, kindBytes, kindNode, kindList:
				return f.size(r), true
			}
			return 0, false
		}
	}
	return x
}
