package pattern

import (
	"regexp/syntax"
	"sync"
	"unsafe"
	"weak"

	"github.com/crdeval/crdeval/internal/value"
)

// MaxBytes bounds the memory of the compiled patterns of this process, for all CRDs. Real CRDs need a few hundred KiB.
// Patterns are compiled at their first use, after the plans that hold them were weighed, and a line of text can compile
// to megabytes. Beyond the bound, patterns that were not used lately are dropped, and compiled again at their next use.
const MaxBytes = 64 << 20

// maxProgram bounds the memory of the instructions of one pattern, in bytes. Package regexp allows some hundred MiB,
// which takes seconds and cannot be aborted. Upstream has no such bound.
const maxProgram = 4 << 20

// retained are the compiled patterns, in a ring: eviction goes round it, passes over each that was used since the last time and
// drops each that was not (the clock algorithm). Uses need no lock that way.
var retained ring

type ring struct {
	mu    sync.Mutex
	hand  *place
	total int64
}

// place is where a Pattern stands in the ring; it holds the Pattern weakly. It is not in the ring while its next is nil.
type place struct {
	pattern    weak.Pointer[Pattern]
	bytes      int64
	prev, next *place
}

// grow says that the pattern of a place retains so many bytes now, and makes room for them.
func (r *ring) grow(at *place, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += bytes - at.bytes
	at.bytes = bytes
	switch {
	case at.next != nil:
	case r.hand == nil:
		at.prev, at.next, r.hand = at, at, at
	default: // behind all others
		at.prev, at.next = r.hand.prev, r.hand
		at.prev.next, at.next.prev = at, at
	}
	for r.total > MaxBytes && r.hand != nil {
		r.turn()
	}
}

// turn looks at one place. Who matches with what is dropped goes on with it.
func (r *ring) turn() {
	at := r.hand
	p := at.pattern.Value()
	if p == nil {
		r.remove(at)
		return
	}
	if b := p.built.Load(); b != nil && b.used.Swap(false) && at.next != at {
		r.hand = at.next
		return
	}
	p.built.Store(nil)
	r.remove(at)
}

func (r *ring) remove(at *place) {
	if at.next == nil {
		return
	}
	r.total -= at.bytes
	if r.hand == at {
		r.hand = at.next
	}
	if r.hand == at {
		r.hand = nil
	}
	at.prev.next, at.next.prev = at.next, at.prev
	at.prev, at.next, at.bytes = nil, nil, 0
}

func (r *ring) drop(at *place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(at)
}

func (r *ring) bytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

const instSize = int64(unsafe.Sizeof(syntax.Inst{}))

// regexpSize estimates what package regexp retains for a program: the instructions, and a second form for one-pass
// expressions.
func regexpSize(prog *syntax.Prog) int64 {
	return 1024 + 2*programSize(prog)
}

// programSize returns the size of the instructions and of the runes they read. Repetitions share runes.
func programSize(prog *syntax.Prog) int64 {
	size := int64(cap(prog.Inst)) * instSize
	seen := map[*rune]struct{}{}
	for i := range prog.Inst {
		runes := prog.Inst[i].Rune
		if first := unsafe.SliceData(runes); first != nil {
			if _, shared := seen[first]; !shared {
				seen[first] = struct{}{}
				size += int64(len(runes)) * 4
			}
		}
	}
	return size
}

// Oversize returns the error of a pattern whose program would exceed maxProgram, or nil. Patterns that cannot be parsed
// give nil.
func Oversize(source string) error {
	repeats, classes := false, false
	for i := range len(source) {
		repeats = repeats || source[i] == '{'
		classes = classes || source[i] == '\\' || source[i] == '['
	}
	if bound := int64(len(source)) * 64; !repeats && bound <= maxProgram && (!classes || bound <= maxProgram>>6) {
		return nil // common case: an instruction has at least a byte of text, and a class at most some thousand runes
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil //nolint:nilerr // compiling reports it
	}
	insts, runes := unrolled(parsed)
	if size := insts*instSize + runes*4; size > maxProgram {
		return &value.LimitError{
			Name: "max_pattern_program_bytes", Limit: "compiled size of a pattern", Unit: "bytes", Maximum: maxProgram,
			Actual: size,
			Advice: "write a shorter pattern, or one with smaller counts of repetition",
		}
	}
	return nil
}

// unrolled returns the approximate number of instructions of an expression with repetitions written out, and of their
// runes.
func unrolled(re *syntax.Regexp) (insts, runes int64) {
	for _, sub := range re.Sub {
		i, r := unrolled(sub)
		insts, runes = insts+i, runes+r
	}
	switch re.Op {
	case syntax.OpRepeat:
		insts = (insts + 1) * int64(max(re.Max, re.Min, 1))
	case syntax.OpLiteral:
		insts, runes = int64(len(re.Rune)), int64(len(re.Rune))
	case syntax.OpCharClass:
		insts, runes = 1, int64(len(re.Rune))
	case syntax.OpCapture:
		insts += 2
	default:
		insts += int64(max(1, len(re.Sub)))
	}
	return insts, runes
}
