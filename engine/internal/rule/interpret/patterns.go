package interpret

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/pattern"
)

// Lengths from which on matching or compiling a pattern can take milliseconds, so that cel-go is not called.
const (
	longSubject = 1 << 12
	longPattern = 1 << 5
)

// patternOp is matches, find or findAll of a pattern on a text. n bounds the matches of findAll if it is not negative.
type patternOp struct {
	apply   func(e *Evaluation, p *pattern.Pattern, text string, n int64) ref.Val
	compile func(p *pattern.Pattern) error
}

var (
	matchesOp = patternOp{apply: matches, compile: (*pattern.Pattern).Err}
	findOp    = patternOp{apply: find, compile: compileRegexp}
	findAllOp = patternOp{apply: findAll, compile: compileRegexp}
)

func compileRegexp(p *pattern.Pattern) error {
	_, err := p.Regexp()
	return err
}

// computedPattern guards calls whose pattern is not constant. Some patterns take half a second to compile.
func computedPattern(op patternOp, failure string) guard {
	return func(c call) ref.Val {
		text, isText := c.args[0].(types.String)
		source, isPattern := c.args[1].(types.String)
		n, ok := c.maxMatches()
		if !isText || !isPattern || !ok || len(text) < longSubject && len(source) < longPattern {
			return c.runPolled()
		}
		if c.patternExceeds(string(text), string(source)) {
			return skipped
		}
		c.require(patternLimit, float64(len(source)))
		p := pattern.Intern(string(source))
		if err := inBackground(c.Evaluation, unpolledSlots, func() error { return op.compile(p) }); err != nil {
			return types.NewErr(failure, err)
		}
		return op.apply(c.Evaluation, p, string(text), n)
	}
}

// constantPatterns make calls with a constant pattern, by overload, so that they precede cel-go's and the library's
// own. The pattern is compiled with the program, and arguments are evaluated until the first error.
var constantPatterns = []*interpreter.RegexOptimization{
	constantPattern("matches", "matches", matchesOp),
	constantPattern("matches", "matches_string", matchesOp),
	constantPattern("find", "string_find_string", findOp),
	constantPattern("findAll", "string_find_all_string", findAllOp),
	constantPattern("findAll", "string_find_all_string_int", findAllOp),
}

func constantPattern(function, overload string, op patternOp) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function: function, OverloadID: overload, RegexIndex: 1,
		Factory: func(node interpreter.InterpretableCall, source string) (interpreter.InterpretableCall, error) {
			p := pattern.Intern(source)
			if err := p.Err(); err != nil {
				return nil, err
			}
			g := func(c call) ref.Val {
				text, ok := c.args[0].Value().(string)
				n, isInt := c.maxMatches()
				switch {
				case !ok && function == "matches":
					return types.NoSuchOverloadErr()
				case !ok:
					return types.MaybeNoSuchOverloadErr(c.args[0])
				case !isInt:
					return types.MaybeNoSuchOverloadErr(c.args[2])
				case c.patternExceeds(text, p.Source):
					return skipped
				}
				return op.apply(c.Evaluation, p, text, n)
			}
			return (&replaced{InterpretableCall: node, args: node.Args()}).guard(g, nil, true), nil
		},
	}
}

// maxMatches returns the third argument of findAll, -1 if it is absent.
func (c call) maxMatches() (n int64, ok bool) {
	if len(c.args) < 3 {
		return -1, true
	}
	n, ok = c.args[2].Value().(int64)
	return n, ok
}

// patternExceeds reports whether the call costs more than an evaluation may: the product of both lengths
// (interpreter/runtimecost.go, costCall; k8s.io/apiserver pkg/cel/library/cost.go).
func (c call) patternExceeds(text, source string) bool {
	if c.overload == "" || len(text) < longSubject && len(source) < longSubject {
		return false
	}
	return c.exceeds(closure.MatchCost(closure.SizeOf(types.String(text)), closure.SizeOf(types.String(source))))
}

func matches(e *Evaluation, p *pattern.Pattern, text string, _ int64) ref.Val {
	if err := p.Err(); err != nil {
		return types.WrapErr(err)
	}
	matched, ok := p.Match(text, e.Stop)
	if !ok {
		panic(errInterrupted)
	}
	return types.Bool(matched)
}

func find(e *Evaluation, p *pattern.Pattern, text string, _ int64) ref.Val {
	re, err := p.Regexp()
	if err != nil {
		return types.WrapErr(err)
	}
	if len(text) < longSubject {
		return types.String(re.FindString(text))
	}
	r := p.Reader(text, e.Stop)
	at := re.FindReaderIndex(r)
	switch {
	case r.Stopped:
		panic(errInterrupted)
	case at == nil:
		return types.String("")
	}
	return types.String(text[at[0]:at[1]])
}

// enough is the panic that ends a search with enough matches.
type enough struct{}

func findAll(e *Evaluation, p *pattern.Pattern, text string, n int64) ref.Val {
	re, err := p.Regexp()
	if err != nil {
		return types.WrapErr(err)
	}
	var found []string
	if len(text) < longSubject {
		found = re.FindAllString(text, int(n))
	} else {
		found = inBackground(e, unpolledSlots, func() (found []string) {
			if n == 0 {
				return nil
			}
			defer func() {
				if r := recover(); r != nil && r != (enough{}) {
					panic(r)
				}
			}()
			re.ReplaceAllStringFunc(text, func(match string) string { // the same matches, polled after each
				e.pollNow()
				if found = append(found, match); int64(len(found)) == n {
					panic(enough{})
				}
				return ""
			})
			return found
		})
	}
	return e.pollList(types.NewStringList(types.DefaultTypeAdapter, found))
}
