package pattern

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

	"github.com/crdeval/crdeval/engine/internal/interrupt"
)

// Pattern is a regular expression of a schema, interned process-wide: equal texts of any CRD are one Pattern for as long
// as some plan holds it. It is compiled at its first use and then shared; what it is compiled to is weighed and may be dropped
// again, see MaxBytes.
type Pattern struct {
	Source string

	built    atomic.Pointer[built]
	tableNot atomic.Bool // the table was tried, and shall not be tried again

	building sync.Mutex
	place    *place
}

// built is what a Pattern is compiled to. It does not change, but for the mark that it was used.
type built struct {
	err   error          // what parsing failed with, the only field then
	dfa   *dfa           // nil if there is none
	re    *regexp.Regexp // package regexp's, for what the table leaves out; nil until that is needed
	bytes int64          // what it retains, about
	used  atomic.Bool    // since eviction last looked at it
}

// Regexp is the compiled expression, or the error that regexp.Compile gives for it. Only schemas that are not structural
// can hold a pattern with an error.
func (p *Pattern) Regexp() (*regexp.Regexp, error) {
	b := p.with(true)
	return b.re, b.err
}

// Err is the error that regexp.Compile gives for the expression, nil mostly. It compiles nothing that Match may not need.
func (p *Pattern) Err() error { return p.with(false).err }

// with returns what the pattern is compiled to, with package regexp's form if the caller needs that or if there is no table.
// Mostly it is there, and nothing is locked.
func (p *Pattern) with(re bool) *built {
	if b := p.built.Load(); b != nil && (b.re != nil || b.dfa != nil && !re || b.err != nil) {
		if !b.used.Load() {
			b.used.Store(true)
		}
		return b
	}
	return p.build(re)
}

func (p *Pattern) build(re bool) *built {
	p.building.Lock()
	defer p.building.Unlock()
	had := p.built.Load()
	if had != nil && (had.re != nil || had.dfa != nil && !re || had.err != nil) {
		return had // somebody else was faster
	}
	b := &built{bytes: int64(unsafe.Sizeof(built{}))} // its first use does not count: much is used just once
	if had != nil {
		b.dfa = had.dfa
	} else if !p.tableNot.Load() {
		prog, err := program(p.Source)
		if err != nil {
			b.err = err
		} else if b.dfa = newDFA(prog); b.dfa == nil {
			p.tableNot.Store(true)
		}
	}
	if b.err == nil && (re || b.dfa == nil) {
		b.re, b.err = regexp.Compile(p.Source)
	}
	if b.dfa != nil {
		b.bytes += b.dfa.size()
	}
	if b.re != nil {
		if prog, err := program(p.Source); err == nil {
			b.bytes += regexpSize(prog)
		}
	}
	p.built.Store(b)
	if p.place != nil {
		retained.grow(p.place, b.bytes)
	}
	return b
}

// program is the instructions of an expression, or the error that regexp.Compile gives.
func program(source string) (*syntax.Prog, error) {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return syntax.Compile(parsed.Simplify())
}

// Sizes in bytes from which a match can take longer than a cancellation may wait, some milliseconds: it then looks now
// and then whether somebody still waits for the answer. Package regexp takes up to 50 ns a byte, the table about one.
const (
	longText       = 1 << 16
	longRegexpText = 1 << 12
)

// Match reports whether the pattern occurs in s. Over long texts, and before it compiles the pattern, it gives up, with ok false,
// once stop says so.
func (p *Pattern) Match(s string, stop *interrupt.Signal) (matched, ok bool) {
	if p.built.Load() == nil && stop.Stopped() {
		return false, false // compiling can take milliseconds
	}
	b := p.with(false)
	if b.dfa != nil {
		if matched, ok = b.dfa.match(s, stop); ok || stop.Stopped() {
			return matched, ok
		}
		b = p.with(true)
	}
	if b.err != nil {
		return false, true
	}
	if len(s) < longRegexpText || stop == nil {
		return b.re.MatchString(s), true
	}
	r := stoppingReader{s: s, stop: stop}
	matched = b.re.MatchReader(&r)
	return matched, !r.stopped
}

// stoppingReader gives the runes of s as regexp reads a string, and io.EOF once stop says so.
type stoppingReader struct {
	s       string
	i, next int // where it reads, and where it asks stop again
	stop    *interrupt.Signal
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

// Intern returns the one Pattern for this text. The table holds it weakly: it goes when the last plan that uses it goes.
func Intern(source string) *Pattern {
	patterns.Lock()
	defer patterns.Unlock()
	if w, ok := patterns.m[source]; ok {
		if p := w.Value(); p != nil {
			return p
		}
	}
	p := &Pattern{Source: source, place: &place{}}
	p.place.pattern = weak.Make(p)
	patterns.m[source] = p.place.pattern
	runtime.AddCleanup(p, forget, forgotten{source, p.place})
	return p
}

type forgotten struct {
	source string
	place  *place
}

func forget(f forgotten) {
	retained.drop(f.place)
	patterns.Lock()
	defer patterns.Unlock()
	if w, ok := patterns.m[f.source]; ok && w.Value() == nil {
		delete(patterns.m, f.source)
	}
}

// Retained is the number of distinct patterns that the live plans of this process share, and about how many bytes these
// take as far as they were used and are not dropped since.
func Retained() (count int, bytes int64) {
	patterns.Lock()
	defer patterns.Unlock()
	for source, w := range patterns.m {
		if w.Value() != nil {
			count++
			bytes += int64(unsafe.Sizeof(Pattern{})) + int64(unsafe.Sizeof(place{})) + int64(len(source))
		}
	}
	return count, bytes + retained.bytes()
}
