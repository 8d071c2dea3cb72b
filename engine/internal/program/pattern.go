package program

import (
	"io"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"weak"
)

// Pattern is a regular expression of a schema, interned process-wide: equal texts of any CRD are one Pattern for as long
// as some plan holds it. It is compiled at its first use and then shared.
type Pattern struct {
	Source string

	once sync.Once
	re   *regexp.Regexp
	err  error
}

// Regexp is the compiled expression, or the error that regexp.Compile gives for it. Only schemas that are not structural
// can hold a pattern with an error.
func (p *Pattern) Regexp() (*regexp.Regexp, error) {
	p.once.Do(func() { p.re, p.err = regexp.Compile(p.Source) })
	return p.re, p.err
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

// Patterns is the number of distinct patterns that live plans of this process share.
func Patterns() int {
	patterns.Lock()
	defer patterns.Unlock()
	return len(patterns.m)
}

// longText is the size in bytes from which a match can take longer than a cancellation may wait: it then reads rune by
// rune from a reader that ends early.
const longText = 1 << 16

// Match reports whether the pattern occurs in s. Over long texts it gives up, with ok false, once stop says so.
func (p *Pattern) Match(s string, stop *Stop) (matched, ok bool) {
	re, err := p.Regexp()
	if err != nil {
		return false, true
	}
	if len(s) < longText || stop == nil {
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

// Stop is how a walk learns that nobody waits for its answer any more. The zero Stop never stops.
type Stop struct {
	done    <-chan struct{}
	stopped atomic.Bool
}

// StopOn stops with the channel, mostly a context's Done. A nil channel never stops.
func StopOn(done <-chan struct{}) *Stop { return &Stop{done: done} }

// Stopped reports whether the channel is closed. It costs a few nanoseconds; walks ask now and then.
func (s *Stop) Stopped() bool {
	if s == nil || s.done == nil {
		return false
	}
	if s.stopped.Load() {
		return true
	}
	select {
	case <-s.done:
		s.stopped.Store(true)
		return true
	default:
		return false
	}
}
