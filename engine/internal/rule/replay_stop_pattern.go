package rule

import (
	"io"
	"math"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crdeval/crdeval/engine/internal/pattern"
)

// Sizes from which a pattern is not left to cel-go: there matching or compiling can take milliseconds.
const (
	longSubject = 1 << 12
	longPattern = 1 << 5
)

// matches is the standard library's, whose pattern is compiled at each call.
func matches(c call) ref.Val {
	text, source, ok := c.patterned()
	switch {
	case !ok:
		return c.watched()
	case c.tooLong(text, source):
		return uncalled
	}
	p := c.s.compiled(source)
	if err := p.Err(); err != nil {
		return types.WrapErr(err)
	}
	return c.s.match(p, text)
}

// find is that of Kubernetes' library of regular expressions.
func find(c call) ref.Val {
	text, source, ok := c.patterned()
	switch {
	case !ok:
		return c.watched()
	case c.tooLong(text, source):
		return uncalled
	}
	re, err := c.s.regexp(source)
	if err != nil {
		return types.NewErr("Illegal regex: %v", err.Error())
	}
	return types.String(c.s.find(re, text))
}

// findAll is that of Kubernetes' library of regular expressions.
func findAll(c call) ref.Val {
	text, source, ok := c.patterned()
	most := int64(-1)
	if len(c.args) == 3 {
		n, isInt := c.args[2].(types.Int)
		most, ok = int64(n), ok && isInt
	}
	switch {
	case !ok:
		return c.watched()
	case c.tooLong(text, source):
		return uncalled
	}
	re, err := c.s.regexp(source)
	if err != nil {
		return types.NewErr("Illegal regex: %v", err.Error())
	}
	return c.s.watch(types.NewStringList(types.DefaultTypeAdapter, c.s.findAll(re, text, int(most))))
}

// patterned are the arguments of a call worth watching.
func (c call) patterned() (text, source string, ok bool) {
	a, isText := c.args[0].(types.String)
	b, isPattern := c.args[1].(types.String)
	text, source = string(a), string(b)
	return text, source, isText && isPattern && (len(text) >= longSubject || len(source) >= longPattern)
}

// maxPatternBytes bounds patterns that are not written in the rule: megabytes take seconds to compile, and hundreds of megabytes of memory.
const maxPatternBytes = 1 << 16

// compiled is the pattern ready to match. Some take half a second to compile, and all memory that package regexp allows.
func (s *stopper) compiled(source string) *pattern.Pattern {
	s.within(madePattern, float64(len(source)))
	p := pattern.Intern(source)
	_ = alone(s, p.Err) // who matches asks again
	return p
}

func (s *stopper) regexp(source string) (*regexp.Regexp, error) {
	s.within(madePattern, float64(len(source)))
	type both struct {
		re  *regexp.Regexp
		err error
	}
	b := alone(s, func() (b both) {
		b.re, b.err = pattern.Intern(source).Regexp()
		return b
	})
	return b.re, b.err
}

// match, find and findAll do what their namesakes of package regexp do, on a long text so that they can be stopped.
func (s *stopper) match(p *pattern.Pattern, text string) ref.Val {
	if s == nil {
		matched, _ := p.Match(text, nil)
		return types.Bool(matched)
	}
	matched, ok := p.Match(text, s.signal)
	if !ok {
		panic(ended)
	}
	return types.Bool(matched)
}

func (s *stopper) find(re *regexp.Regexp, text string) string {
	if s == nil || len(text) < longSubject {
		return re.FindString(text)
	}
	at := re.FindReaderIndex(&runeReader{text: text, s: s})
	if at == nil {
		return ""
	}
	return text[at[0]:at[1]]
}

func (s *stopper) findAll(re *regexp.Regexp, text string, most int) (found []string) {
	if s == nil || len(text) < longSubject {
		return re.FindAllString(text, most)
	}
	if most < 0 {
		most = len(text) + 1
	}
	var behind *regexp.Regexp // of a match that is not at the beginning of the text, made when it is needed
	for pos, last := 0, -1; pos <= len(text) && len(found) < most; {
		var start, end int
		if pos == 0 {
			at := re.FindReaderIndex(&runeReader{text: text, s: s})
			if at == nil {
				return found
			}
			start, end = at[0], at[1]
		} else {
			if behind == nil {
				if behind = after(re); behind == nil {
					return alone(s, func() []string { return re.FindAllString(text, most) })
				}
			}
			_, width := utf8.DecodeLastRuneInString(text[:pos])
			at := behind.FindReaderSubmatchIndex(&runeReader{text: text[pos-width:], s: s})
			if at == nil {
				return found
			}
			start, end = pos-width+at[2], pos-width+at[3]
		}
		keep := true
		if end == pos { // an empty match: none beside another one, and on by a code point
			keep = start != last
			_, width := utf8.DecodeRuneInString(text[pos:])
			if pos += width; width == 0 {
				pos = len(text) + 1
			}
		} else {
			pos = end
		}
		if last = end; keep {
			found = append(found, text[start:end])
		}
	}
	return found
}

// after is an expression that finds the first match behind the first code point, with that code point to look back on: its first group. Nil
// if it becomes larger than package regexp allows.
func after(re *regexp.Regexp) *regexp.Regexp {
	source := re.String()
	if parsed, err := syntax.Parse(source, syntax.Perl); err == nil {
		source = parsed.String() // an open \Q would take the parenthesis in
	}
	behind, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + source + `)`)
	if err != nil {
		return nil
	}
	return behind
}

// runeReader gives the runes of a text as package regexp reads a string, and ends the evaluation when nobody waits for it.
type runeReader struct {
	text string
	i    int
	s    *stopper
}

// ReadRune implements io.RuneReader.
func (r *runeReader) ReadRune() (rune, int, error) {
	if r.i >= len(r.text) {
		return 0, 0, io.EOF
	}
	r.s.poll()
	c, width := utf8.DecodeRuneInString(r.text[r.i:])
	r.i += width
	return c, width, nil
}

// constantPatterns make calls with a constant pattern, by overload, so that they come before cel-go's and the library's own, which have none. They
// evaluate as these do: the pattern is compiled with the program, and arguments are evaluated until the first error.
var constantPatterns = []*interpreter.RegexOptimization{
	constantPattern("matches", "matches", constantMatches),
	constantPattern("matches", "matches_string", constantMatches),
	constantPattern("find", "string_find_string", constantFind),
	constantPattern("findAll", "string_find_all_string", constantFindAll),
	constantPattern("findAll", "string_find_all_string_int", constantFindAll),
}

func constantPattern(function, overload string, answer func(*pattern.Pattern, call) ref.Val) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function: function, OverloadID: overload, RegexIndex: 1,
		Factory: func(node interpreter.InterpretableCall, source string) (interpreter.InterpretableCall, error) {
			p := pattern.Intern(source)
			if err := p.Err(); err != nil {
				return nil, err
			}
			return &guarded{InterpretableCall: node, args: node.Args(), inOrder: true, guard: func(c call) ref.Val { return answer(p, c) }}, nil
		},
	}
}

func constantMatches(p *pattern.Pattern, c call) ref.Val {
	text, ok := c.args[0].Value().(string)
	switch {
	case !ok:
		return types.NoSuchOverloadErr()
	case c.tooLong(text, p.Source):
		return uncalled
	}
	return c.s.match(p, text)
}

func constantFind(p *pattern.Pattern, c call) ref.Val {
	text, ok := c.args[0].Value().(string)
	switch {
	case !ok:
		return types.MaybeNoSuchOverloadErr(c.args[0])
	case c.tooLong(text, p.Source):
		return uncalled
	}
	re, err := p.Regexp()
	if err != nil {
		return types.WrapErr(err) // it has none: the program was made
	}
	return types.String(c.s.find(re, text))
}

func constantFindAll(p *pattern.Pattern, c call) ref.Val {
	text, ok := c.args[0].Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(c.args[0])
	}
	most := int64(-1)
	if len(c.args) == 3 {
		if most, ok = c.args[2].Value().(int64); !ok {
			return types.MaybeNoSuchOverloadErr(c.args[2])
		}
	}
	if c.tooLong(text, p.Source) {
		return uncalled
	}
	re, err := p.Regexp()
	if err != nil {
		return types.WrapErr(err)
	}
	return c.s.watch(types.NewStringList(types.DefaultTypeAdapter, c.s.findAll(re, text, int(most))))
}

// tooLong reports whether the call costs more than an evaluation may: the product of both lengths (interpreter/runtimecost.go, costCall;
// k8s.io/apiserver pkg/cel/library/cost.go).
func (c call) tooLong(text, source string) bool {
	if c.overload == "" || c.s == nil || len(text) < longSubject && len(source) < longSubject {
		return false
	}
	ofText := math.Ceil((1 + float64(utf8.RuneCountInString(text))) * common.StringTraversalCostFactor)
	ofPattern := math.Ceil(float64(utf8.RuneCountInString(source)) * common.RegexStringLengthCostFactor)
	return c.s.over(uint64(ofText) * uint64(ofPattern))
}
