package pattern

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// dropAll drops all compiled patterns.
func dropAll() {
	patterns.Lock()
	defer patterns.Unlock()
	for _, e := range patterns.m {
		if p := e.pattern.Value(); p != nil {
			p.built.Store(nil)
		}
		patterns.total -= e.bytes
		e.bytes = 0
	}
}

// retained returns the number of distinct patterns that live plans share, and their approximate memory in bytes.
func retained() (count int, bytes int64) {
	patterns.Lock()
	defer patterns.Unlock()
	for source, e := range patterns.m {
		if e.pattern.Value() != nil {
			count++
			bytes += int64(unsafe.Sizeof(Pattern{})) + int64(unsafe.Sizeof(entry{})) + int64(len(source))
		}
	}
	return count, bytes + patterns.total
}

// TestPatternMemory checks that the retained memory of used patterns is as estimated, and within the bound.
func TestPatternMemory(t *testing.T) {
	const count = 250 // twice the bound
	before := heap()
	list := make([]*Pattern, count)
	for i := range list {
		list[i] = Intern(fmt.Sprintf(`^((a%d){1,30}){1,33}$`, i))
		if matched, ok := list[i].Match(fmt.Sprintf("a%da%d", i, i), nil); !matched || !ok {
			t.Fatalf("pattern %d does not match", i)
		}
	}
	_, weight := retained()
	grown := heap() - before
	t.Logf("%d patterns retain %d KiB, the estimate is %d KiB", count, grown>>10, weight>>10)
	if weight > MaxBytes+1<<20 || grown > MaxBytes*3/2 {
		t.Errorf("%d MiB, estimated %d MiB: more than the bound of %d MiB", grown>>20, weight>>20, MaxBytes>>20)
	}
	if grown > 2*weight || weight > 4*grown { // the estimate counts a second form, which not all expressions have
		t.Errorf("%d bytes, estimated %d", grown, weight)
	}
	// What was dropped is built again.
	for i := range list {
		if matched, ok := list[i].Match(fmt.Sprintf("b%d", i), nil); matched || !ok {
			t.Fatalf("pattern %d matches", i)
		}
	}
	runtime.KeepAlive(list)
}

// TestPatternInUseStays checks that eviction keeps a pattern that was used since the last eviction.
func TestPatternInUseStays(t *testing.T) {
	dropAll() // what other tests built may fill the memory without being used again
	used := Intern(`^used (a|b){3}$`)
	var others []*Pattern
	for i := range 140 {
		used.Match("used aba", nil)
		before := used.built.Load()
		p := Intern(fmt.Sprintf(`^((b%d){1,30}){1,33}$`, i))
		others = append(others, p)
		p.Match("c", nil)
		if used.built.Load() != before {
			t.Fatalf("dropped between two uses, after %d others", i)
		}
	}
	runtime.KeepAlive(others)
}

func TestPatternsConcurrently(t *testing.T) {
	var list []*Pattern
	for i := range 150 {
		list = append(list, Intern(fmt.Sprintf(`^((c%d){1,30}){1,33}$`, i)))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range list {
				k := (i*7 + g*31) % len(list)
				if matched, ok := list[k].Match(fmt.Sprintf("c%d", k), nil); !matched || !ok {
					t.Errorf("pattern %d does not match", k)
				}
				if matched, _ := list[k].Match("é", nil); matched {
					t.Errorf("pattern %d matches", k)
				}
			}
		})
	}
	wg.Wait()
}

func TestPatternMatchAllocatesNothing(t *testing.T) {
	p := Intern(`^[a-z]+(-[a-z]+)*$`)
	if n := testing.AllocsPerRun(100, func() { p.Match("some-name", nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// actualSize returns the size of the instructions and of the runes they read. Repetitions share runes.
func actualSize(prog *syntax.Prog) int64 {
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

func TestOversizePattern(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		over   bool
	}{
		"ordinary":                {`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, false},
		"counts":                  {`^((a1){1,30}){1,33}$`, false},
		"a thousand long texts":   {`^(` + strings.Repeat("a", 1000) + `){1,1000}$`, true},
		"a thousand classes":      {`^(\pL\pN){1,1000}$`, false},
		"very many classes":       {strings.Repeat(`\pL`, 5000), true},
		"a long text":             {strings.Repeat("a", 1<<15), false},
		"cannot be parsed at all": {`(a{1000}){1000}`, false},
	} {
		err := Oversize(c.source)
		var limit *tree.LimitError
		if errors.As(err, &limit) != c.over {
			t.Errorf("%s: %v", name, err)
		}
		if c.over {
			t.Logf("%s: %v", name, err)
			continue
		}
		if prog, err := program(c.source); err == nil && actualSize(prog) > maxProgram {
			t.Errorf("%s: %d bytes", name, actualSize(prog))
		}
	}
}

// TestPatternOfManyClasses checks that no table is built if finding the classes would take seconds.
func TestPatternOfManyClasses(t *testing.T) {
	var text strings.Builder
	for i := range 20000 {
		text.WriteRune(rune(0x4e00 + i))
	}
	prog, err := program(text.String())
	if err != nil {
		t.Fatal(err)
	}
	if b := (dfaBuilder{prog: prog, dfa: &dfa{}}); b.classes() {
		t.Errorf("%d classes", b.dfa.width)
	}
	if matched, ok := Intern(text.String()).Match("a", nil); matched || !ok {
		t.Error("matches")
	}
}
