package pattern

import (
	"regexp/syntax"
	"sync"
	"unsafe"
	"weak"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// MaxBytes bounds the memory of the compiled patterns of this process, for all CRDs. Real CRDs need a few hundred KiB.
// Patterns are compiled at their first use, after the plans that hold them were weighed, and a line of text can compile
// to megabytes. Beyond the bound, patterns that were not used lately are dropped, and compiled again at their next use.
const MaxBytes = 64 << 20

// maxProgram bounds the memory of the instructions of one pattern, in bytes. Package regexp allows some hundred MiB,
// which takes seconds and cannot be aborted. Upstream has no such bound.
const maxProgram = 4 << 20

// patterns are the interned patterns, by text. An entry lives as long as its Pattern.
var patterns = struct {
	sync.Mutex
	m     map[string]*entry
	total int64 // bytes of all entries
}{m: map[string]*entry{}}

// entry is a Pattern in the table, with the bytes that it retains.
type entry struct {
	pattern weak.Pointer[Pattern]
	bytes   int64
}

// grow records that a pattern retains bytes, and drops other patterns beyond MaxBytes.
func grow(p *Pattern, bytes int64) {
	patterns.Lock()
	defer patterns.Unlock()
	patterns.total += bytes - p.entry.bytes
	p.entry.bytes = bytes
	for round := 0; round < 2 && patterns.total > MaxBytes; round++ {
		evict(p)
	}
}

// evict drops compiled patterns that were not used since the last eviction, except one, until there is capacity for
// more. A match that uses a dropped pattern keeps it.
func evict(except *Pattern) {
	for _, e := range patterns.m {
		p := e.pattern.Value()
		if p == nil || p == except {
			continue
		}
		if b := p.built.Load(); b != nil && b.used.Swap(false) {
			continue
		}
		p.built.Store(nil)
		patterns.total -= e.bytes
		if e.bytes = 0; patterns.total <= MaxBytes*7/8 {
			return
		}
	}
}

const instSize = int64(unsafe.Sizeof(syntax.Inst{}))

// programSize estimates the size of the instructions of an expression and of the runes they read.
func programSize(parsed *syntax.Regexp) int64 {
	insts, runes := unrolled(parsed)
	return insts*instSize + runes*4
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
	if size := programSize(parsed); size > maxProgram {
		return &tree.LimitError{Name: "max_pattern_program_bytes", Limit: "compiled size of a pattern", Unit: "bytes",
			Maximum: maxProgram, Actual: size, Advice: "write a shorter pattern, or one with smaller counts of repetition"}
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
