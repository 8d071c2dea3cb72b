package program

import (
	"io"
	"regexp"
	"regexp/syntax"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
	"weak"
)

// Pattern is a regular expression of a schema, interned process-wide: equal texts of any CRD are one Pattern for as long
// as some plan holds it. It is compiled at its first use and then shared.
type Pattern struct {
	Source string

	first sync.Once // the table, or what parsing failed with
	dfa   *dfa
	err   error

	second sync.Once // package regexp's, for what the table leaves out
	re     *regexp.Regexp
	weight atomic.Int64
}

// Regexp is the compiled expression, or the error that regexp.Compile gives for it. Only schemas that are not structural
// can hold a pattern with an error.
func (p *Pattern) Regexp() (*regexp.Regexp, error) {
	p.prepare()
	if p.err != nil {
		return nil, p.err
	}
	p.second.Do(func() {
		p.re = regexp.MustCompile(p.Source) // it is what prepare did
		p.weight.Add(regexpSize(p.Source))
	})
	return p.re, nil
}

// Err is the error that regexp.Compile gives for the expression, nil mostly. It compiles nothing that Match may not need.
func (p *Pattern) Err() error {
	p.prepare()
	return p.err
}

func (p *Pattern) prepare() {
	p.first.Do(func() {
		parsed, err := syntax.Parse(p.Source, syntax.Perl)
		if err != nil {
			p.err = err
			return
		}
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			p.err = err
			return
		}
		if p.dfa = newDFA(prog); p.dfa != nil {
			p.weight.Add(p.dfa.size())
		}
	})
}

// Sizes in bytes from which a match can take longer than a cancellation may wait, some milliseconds: it then looks now
// and then whether somebody still waits for the answer. Package regexp takes up to 50 ns a byte, the table about one.
const (
	longText       = 1 << 16
	longRegexpText = 1 << 12
)

// Match reports whether the pattern occurs in s. Over long texts it gives up, with ok false, once stop says so.
func (p *Pattern) Match(s string, stop *Stop) (matched, ok bool) {
	p.prepare()
	if p.dfa != nil {
		if matched, ok = p.dfa.match(s, stop); ok || stop.Stopped() {
			return matched, ok
		}
	}
	re, err := p.Regexp()
	if err != nil {
		return false, true
	}
	if len(s) < longRegexpText || stop == nil {
		return re.MatchString(s), true
	}
	r := stoppingReader{s: s, stop: stop}
	matched = re.MatchReader(&r)
	return matched, !r.stopped
}

// stoppingReader gives the runes of s as regexp reads a string, and io.EOF once stop says so.
type stoppingReader struct {
	s       string
	i, next int // where it reads, and where it asks stop again
	stop    *Stop
	stopped bool
}

func (r *stoppingReader) ReadRune() (rune, int, error) {
	if r.i >= len(r.s) || r.stopped {
		return 0, 0, io.EOF
	}
	if r.i >= r.next {
		r.next = r.i + 1<<12
		if r.stopped = r.stop.Stopped(); r.stopped {
			return 0, 0, io.EOF
		}
	}
	c, n := utf8.DecodeRuneInString(r.s[r.i:])
	r.i += n
	return c, n, nil
}

var patterns = struct {
	sync.Mutex
	m map[string]weak.Pointer[Pattern]
}{m: map[string]weak.Pointer[Pattern]{}}

// intern returns the one Pattern for this text. The table holds it weakly: it goes when the last plan that uses it goes.
func intern(source string) *Pattern {
	patterns.Lock()
	defer patterns.Unlock()
	if w, ok := patterns.m[source]; ok {
		if p := w.Value(); p != nil {
			return p
		}
	}
	p := &Pattern{Source: source}
	patterns.m[source] = weak.Make(p)
	runtime.AddCleanup(p, forget, source)
	return p
}

func forget(source string) {
	patterns.Lock()
	defer patterns.Unlock()
	if w, ok := patterns.m[source]; ok && w.Value() == nil {
		delete(patterns.m, source)
	}
}

// Patterns is the number of distinct patterns that the live plans of this process share, and about how many bytes these
// take as far as they were used.
func Patterns() (count int, bytes int64) {
	patterns.Lock()
	defer patterns.Unlock()
	for source, w := range patterns.m {
		if p := w.Value(); p != nil {
			count++
			bytes += int64(unsafe.Sizeof(*p)) + int64(len(source)) + p.weight.Load()
		}
	}
	return count, bytes
}

// regexpSize estimates what package regexp retains for an expression: measured, some 100 bytes for each of its bytes.
func regexpSize(source string) int64 { return 1024 + 100*int64(len(source)) }
