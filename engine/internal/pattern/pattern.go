// Package pattern matches the regular expressions of schemas and rules like package regexp, but faster for ASCII text,
// interruptibly, and with memory that is shared and bounded for the whole process.
//
// Read pattern.go first. dfa.go is the fast path, memory.go bounds the memory.
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

// Pattern is a regular expression, interned process-wide: equal texts are one Pattern while a plan holds it. It is
// compiled at its first use, and may be dropped again, see MaxBytes.
type Pattern struct {
	Source string

	built    atomic.Pointer[built]
	tableNot atomic.Bool // building the table failed

	building sync.Mutex
	entry    *entry
}

// built is a compiled Pattern. It is immutable except for used.
type built struct {
	err   error          // the error of parsing; the other fields are then zero
	dfa   *dfa           // or nil
	re    *regexp.Regexp // for text that the table does not match; nil until it is needed
	bytes int64          // approximate memory
	used  atomic.Bool    // since the last eviction
}

// Regexp returns the compiled expression, or the error of regexp.Compile. Only schemas that are not structural can have
// a pattern with an error.
func (p *Pattern) Regexp() (*regexp.Regexp, error) {
	b := p.with(true)
	return b.re, b.err
}

// Err returns the error of regexp.Compile, or nil. It compiles no more than Match needs.
func (p *Pattern) Err() error { return p.with(false).err }

// with returns the compiled pattern. It includes package regexp's form if re is set or if there is no table. It locks
// nothing if that exists.
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
		return had // another goroutine built it
	}
	b := &built{bytes: int64(unsafe.Sizeof(built{}))} // the first use does not count, since many patterns are used once
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
		if parsed, err := syntax.Parse(p.Source, syntax.Perl); err == nil {
			b.bytes += 1024 + 2*programSize(parsed) // instructions, and their form for one-pass expressions
		}
	}
	p.built.Store(b)
	if p.entry != nil {
		grow(p, b.bytes)
	}
	return b
}

// program returns the instructions of an expression, or the error of regexp.Compile.
func program(source string) (*syntax.Prog, error) {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return syntax.Compile(parsed.Simplify())
}

// Sizes in bytes from which a match can take some milliseconds, so that it polls the stop signal. The table takes about
// a nanosecond a byte. Package regexp takes up to 50 ns a byte for usual patterns, and up to some 10 ns for each byte
// and each instruction of a long program. longMatch and pollWork are products of both.
const (
	longText       = 1 << 16
	longRegexpText = 1 << 12
	longMatch      = 1 << 18
	pollWork       = 1 << 14
)

// Match reports whether the pattern occurs in s. ok is false if stop fired before it was compiled, or during a long
// match.
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
	if stop == nil || len(s) < longRegexpText && int64(len(s))*b.instructions() < longMatch {
		return b.re.MatchString(s), true
	}
	r := p.Reader(s, stop)
	matched = b.re.MatchReader(r)
	return matched, !r.Stopped
}

// instructions estimates the length of the program of package regexp.
func (b *built) instructions() int64 { return 1 + b.bytes/(2*instSize) }

// Work estimates the steps to match a text, per byte of it: 1 with a table, else the number of instructions.
func (p *Pattern) Work() int64 {
	b := p.with(false)
	if b.dfa != nil {
		return 1
	}
	return b.instructions()
}

// Reader reads the runes of a text, and returns io.EOF once its signal fires. It sets Stopped then.
type Reader struct {
	Stopped bool

	text     string
	stop     *interrupt.Signal
	i, next  int // the read offset, and the offset to poll stop at
	interval int // bytes between polls
}

// Reader returns a Reader for a match of the pattern by package regexp. It polls stop more often if the program is
// long: a byte of the text may take a step of each instruction.
func (p *Pattern) Reader(text string, stop *interrupt.Signal) *Reader {
	return &Reader{text: text, stop: stop, interval: int(min(pollWork/p.with(true).instructions()+1, longRegexpText))}
}

// ReadRune implements io.RuneReader.
func (r *Reader) ReadRune() (rune, int, error) {
	if r.i >= r.next {
		r.next = r.i + r.interval
		r.Stopped = r.stop.Stopped()
	}
	if r.i >= len(r.text) || r.Stopped {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRuneInString(r.text[r.i:])
	r.i += n
	return c, n, nil
}

// Intern returns the Pattern for a text. The table holds it weakly.
func Intern(source string) *Pattern {
	patterns.Lock()
	defer patterns.Unlock()
	if e, ok := patterns.m[source]; ok {
		if p := e.pattern.Value(); p != nil {
			return p
		}
	}
	p := &Pattern{Source: source, entry: &entry{}}
	p.entry.pattern = weak.Make(p)
	patterns.m[source] = p.entry
	runtime.AddCleanup(p, func(e *entry) { forget(source, e) }, p.entry)
	return p
}

func forget(source string, e *entry) {
	patterns.Lock()
	defer patterns.Unlock()
	patterns.total -= e.bytes
	if patterns.m[source] == e {
		delete(patterns.m, source)
	}
}
