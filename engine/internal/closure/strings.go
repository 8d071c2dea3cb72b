package closure

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/common/overloads"

	"github.com/crdeval/crdeval/engine/internal/pattern"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// longText is the length from which on operations on texts poll.
const longText = 1 << 16

// text is an operand of type string: a place, a constantText or a computedText. get returns the string and its length
// in code points.
type text interface {
	get(f *Frame) (s string, chars uint64, ok bool)
}

type constantText struct {
	s     string
	chars uint64
}

type computedText valFn

// isText reports whether a value is certainly a string: a node of the document or a constant.
func (x *expr) isText() bool { return x.text != nil || x.isConst && x.constant.kind == kindString }

// textOf returns an operand. compared: it is only compared with constants, so that few values are expected.
func textOf(x *expr, compared bool) text {
	switch {
	case x.isConst:
		return &constantText{x.constant.text(), x.constant.chars()}
	case x.text == nil:
		return computedText(x.val())
	case compared:
		x.part.parts = append(x.part.parts, x.part.path+"\xfe")
	default:
		x.part.any = true
	}
	return x.text
}

func (p *place) get(f *Frame) (s string, chars uint64, ok bool) {
	i, ok := p.find(f)
	n := &f.Doc.Nodes[i]
	if !ok || n.Kind != tree.String {
		return "", 0, false
	}
	s = f.Doc.Str(i)
	if n.Flags&tree.Wide != 0 {
		return s, uint64(utf8.RuneCountInString(s)), true
	}
	return s, uint64(len(s)), true
}

func (t *constantText) get(*Frame) (s string, chars uint64, ok bool) { return t.s, t.chars, true }

func (t computedText) get(f *Frame) (s string, chars uint64, ok bool) {
	v, ok := t(f)
	return v.text(), v.chars(), ok && v.is(kindString)
}

var searches = map[string]func(s, part string) bool{
	"startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix, "contains": strings.Contains,
}

// search compiles the searches, which cost a tenth of the part, contains a tenth of one times a tenth of the other.
func search(_ *compiler, k callee, args []*expr) *expr {
	if k.overload == "" || args[0].shape.kind != kindString || args[1].shape.kind != kindString {
		return nil
	}
	l, r, found, contains := textOf(args[0], false), textOf(args[1], false), searches[k.name], k.name == "contains"
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		s, n, ok := l.get(f)
		part, m, also := r.get(f)
		cost := TraversalCost(m)
		if contains {
			cost *= TraversalCost(n)
		}
		f.Cost += cost
		if !ok || !also || f.Cost > f.Limit || len(s) > longText && f.Stop.Stopped() {
			return false, false
		}
		return found(s, part), true
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
	p, l := pattern.Intern(args[1].constant.text()), textOf(args[0], false)
	patternSize := args[1].constant.chars()
	return func(f *Frame) (none T, _ bool) {
		s, n, ok := l.get(f)
		f.Cost += MatchCost(n, patternSize)
		if !ok || f.Cost > f.Limit {
			return none, false
		}
		return do(f, p, s)
	}
}

// longSearch is the length from which on the fallback searches: package regexp is slow and cannot be interrupted.
const longSearch = 1 << 12

// joined compiles + of two strings, which costs a tenth of the result.
func joined(a, b *expr) *expr {
	l, r := textOf(a, false), textOf(b, false)
	return &expr{shape: stringShape, v: func(f *Frame) (val, bool) {
		s, n, ok := l.get(f)
		t, m, also := r.get(f)
		f.Cost += TraversalCost(n + m)
		if !ok || !also || f.Cost > f.Limit || len(s)+len(t) > longText && f.Stop.Stopped() {
			return val{}, false
		}
		return textVal(kindString, s+t, n+m < uint64(len(s)+len(t))), true
	}}
}

// printed compiles string of an int, which costs 1.
func printed(_ *compiler, k callee, args []*expr) *expr {
	if k.overload != overloads.IntToString || args[0].shape.kind != kindInt {
		return nil
	}
	v := args[0].val()
	return &expr{shape: k.result, v: func(f *Frame) (val, bool) {
		i, ok := v(f)
		f.Cost++
		return textVal(kindString, strconv.FormatInt(int64(i.word), 10), false), ok && i.is(kindInt)
	}}
}

// durationOf compiles duration of a string.
func durationOf(_ *compiler, k callee, args []*expr) *expr {
	if args[0].shape.kind != kindString {
		return nil
	}
	l := textOf(args[0], false)
	return &expr{shape: k.result, v: func(f *Frame) (val, bool) {
		s, _, ok := l.get(f)
		f.Cost++
		d, err := time.ParseDuration(s)
		return durationVal(d), ok && err == nil
	}}
}

// size compiles size, which costs 1.
func size(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 {
		return nil
	}
	v := args[0].shallow()
	if args[0].shape.kind != kindList {
		v = args[0].val()
	}
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
