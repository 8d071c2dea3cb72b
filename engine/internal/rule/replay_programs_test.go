package rule

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/internal/value"
)

// replayedSet is a Set of one rule that no closure answers for {"m":{}}.
func replayedSet(t testing.TB, rule string) *Set {
	t.Helper()
	s := props(t, fmt.Sprintf(`{type: object, properties: {m: {type: object, additionalProperties: {type: string}}}, x-kubernetes-validations: [{rule: %q}]}`, rule))
	return Field(s).Compile(s.XValidations)
}

// termsOf is a rule of so many terms.
func termsOf(terms int) string {
	return strings.Repeat("self.m['k'] == 'x' || ", terms) + "true"
}

// evaluate runs a Set on {"m":{}}, and reports whether it came to an end.
func evaluate(t testing.TB, set *Set, s *interrupt.Signal) bool {
	t.Helper()
	d := value.Acquire()
	defer d.Release()
	r := Start(d)
	defer r.Close()
	r.Stop = s
	more := set.Evaluate(r, Site{Self: parse(t, d, `{"m":{}}`, value.Request), Place: spot{}})
	if len(r.Found) > 0 {
		t.Errorf("found %v", r.Found[0].Error)
	}
	return more
}

// TestCompilingKeepsDeadlines: nobody waits for cel-go's checker longer than they want, and what it was asked for is there for the next.
func TestCompilingKeepsDeadlines(t *testing.T) {
	set := replayedSet(t, termsOf(500))
	done := make(chan struct{})
	time.AfterFunc(time.Millisecond, func() { close(done) })
	start := time.Now()
	if evaluate(t, set, interrupt.On(done)) {
		t.Skipf("cel-go compiled %d terms within %v", 500, time.Since(start))
	}
	key := programKey{termsOf(500), false, PerCallLimit}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		p := set.programs()
		p.mu.RLock()
		made := p.byText[key] != nil
		p.mu.RUnlock()
		if made {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what was given up was never made")
		}
	}
	if !evaluate(t, set, interrupt.On(make(chan struct{}))) {
		t.Error("stopped")
	}
}

// TestProgramsAreMadeOnce: many who want one program at the same time make one.
func TestProgramsAreMadeOnce(t *testing.T) {
	p := replayedSet(t, termsOf(200)).programs()
	key := programKey{termsOf(200), false, PerCallLimit}
	var all sync.WaitGroup
	programs := make([]any, 8)
	for i := range programs {
		all.Go(func() {
			done := make(chan struct{})
			if i%2 == 0 {
				done = nil
			}
			program, ok, err := p.get(key, done)
			if programs[i] = program; !ok || err != nil {
				t.Errorf("%v %v", ok, err)
			}
		})
	}
	all.Wait()
	for _, other := range programs {
		if other != programs[0] || other == nil {
			t.Error("another program")
		}
	}
	if len(p.flying) > 0 {
		t.Errorf("%d still under way", len(p.flying))
	}
}

// TestKeptPrograms: the programs of a process are bounded, also those of a single set, and go with the sets.
func TestKeptPrograms(t *testing.T) {
	first := replayedSet(t, "self.m['first'] == 'x' || true")
	evaluate(t, first, nil)
	if first.replays.Load() == nil {
		t.Fatal("nothing is kept")
	}
	big := replayedSet(t, "self.m['big'] == 'x' || true").programs()
	program, _, err := big.get(programKey{"true", false, PerCallLimit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first.replays.Load().used.Store(false)
	for i := range 100 {
		big.used.Store(true)
		big.keep(programKey{fmt.Sprint(i), false, PerCallLimit}, program, maxKeptBytes/50)
	}
	kept.mu.Lock()
	var sum int64
	for e := kept.places.Front(); e != nil; e = e.Next() {
		sum += e.Value.(*keptPlace).bytes
	}
	if kept.bytes > maxKeptBytes || sum != kept.bytes {
		t.Errorf("%d bytes are kept, and as many counted: %d", sum, kept.bytes)
	}
	kept.mu.Unlock()
	if len(big.byText) > 50 {
		t.Errorf("one set has %d programs", len(big.byText))
	}
	if first.replays.Load() != nil {
		t.Error("what was not used lately is still there")
	}
	evaluate(t, first, nil)

	types := weak.Make(first.declared)
	evaluate(t, first, nil)
	for range 5 {
		runtime.GC() // first is not used any more
	}
	if types.Value() != nil {
		t.Error("the cache holds on to the types of a set that is gone")
	}
}

// TestTracingKeepsDeadlines: a trace compiles the rule once more.
func TestTracingKeepsDeadlines(t *testing.T) {
	done := make(chan struct{})
	close(done)
	key := tracedKey{of: replayedSet(t, "true").declared, text: termsOf(200)}
	if p, ok := planAside(key, done); p != nil || ok {
		t.Error("waited")
	}
	if p, ok := planAside(key, nil); p == nil || !ok {
		t.Error("no program")
	}
}
