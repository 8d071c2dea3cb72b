package pattern

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/testenv"
)

var patternSamples = []string{
	``, `^`, `$`, `^$`, `a`, `^a`, `a$`, `^a$`, `a*`, `a+b`, `(a|b)*c`, `^(a|b)*$`, `a{2,4}`, `^.{1,20}$`, `.`, `^.$`, `(?s)^.$`, `(?i)ab`, `(?i)^[k-m]+$`,
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`,
	`^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$`, `^([0-9]{1,5}(h|m|s|ms)){1,4}$`, `^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$`,
	`^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$`,
	`(^0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B)$`, `^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$`, `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`,
	`\bword\b`, `(?m)^a$`, `x|^y|z$`, `(^a)|(b$)`, `$^`, `^^a$$`, `(|a)b`, `[^a]`, `[^\n]a`, `\x{e9}`, `[à-ü]`, `a\z`, `\Aa`, `.*a.{12}$`, `(a{0,200}b){5}`, `a**`, `^(ab?)*?$`, `\pL+`, `\s`, `[[:upper:]]+$`, `(?=a)`, `a{2000}`, `[b-a]`,
}

var patternTexts = func() []string {
	l := []string{"", "a", "b", "aa", "ab", "ba", "aab", "c", "abc", "A", "AB", "K", "\u212a", "é", "aé", "\n", "a\n", "\na", "a\nb", "a.b", "a-b", "-a", "a-", "a.-b",
		"5 0 * * *", "* * * *", "*/5 0 1 1 1", "10s", "1h30m", "90GB", "1.5Gi", "50m", "1e3", "word", "a word b", "words", "x", "y", "xy", "z", "zx",
		strings.Repeat("a", 20), strings.Repeat("a", 21), strings.Repeat("ab", 100), "/api/v2/cart?x=%2F", "tenant-01", " ", "\t", "ü", "\xff"}
	for i := range 300 {
		l = append(l, fmt.Sprintf("%b", i), strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprintf("%b", i)))
	}
	return l
}()

func TestPatternMatchesLikeRegexp(t *testing.T) {
	tables := 0
	for _, source := range patternSamples {
		re, err := regexp.Compile(source)
		p := Intern(source)
		if err != nil {
			if _, got := p.Regexp(); got == nil || got.Error() != err.Error() {
				t.Errorf("%q: error %v, want %v", source, got, err)
			}
			if got := p.Err(); got == nil || got.Error() != err.Error() {
				t.Errorf("%q: Err %v, want %v", source, got, err)
			}
			continue
		}
		for _, s := range patternTexts {
			if got, ok := p.Match(s, nil); !ok || got != re.MatchString(s) {
				t.Errorf("%q in %q: %v %v", source, s, got, ok)
			}
		}
		if b := p.built.Load(); b.dfa != nil {
			tables++
			t.Logf("%q: %d states of %d classes", source, len(b.dfa.atEnd), b.dfa.width)
		}
	}
	if tables < len(patternSamples)-9 {
		t.Errorf("%d of %d patterns have a table", tables, len(patternSamples))
	}
}

func FuzzPattern(f *testing.F) {
	for i, source := range patternSamples {
		f.Add(source, patternTexts[i])
	}
	f.Fuzz(func(t *testing.T, source, s string) {
		re, err := regexp.Compile(source)
		if err != nil {
			return
		}
		p := &Pattern{Source: source}
		for ; ; s = s[1:] {
			if got, ok := p.Match(s, nil); !ok || got != re.MatchString(s) {
				t.Fatalf("%q in %q: %v %v", source, s, got, ok)
			}
			if s == "" {
				return
			}
		}
	})
}

func TestPatternStops(t *testing.T) {
	done := make(chan struct{})
	close(done)
	for name, c := range map[string]struct{ source, text string }{
		"table":  {`^[a-z]*$`, strings.Repeat("a", 3<<20)},
		"regexp": {`^[a-zé]*$`, strings.Repeat("é", 3<<19)},
	} {
		if matched, ok := Intern(c.source).Match(c.text, nil); !matched || !ok {
			t.Errorf("%s: no match without a stop", name)
		}
		if matched, ok := Intern(c.source).Match(c.text, interrupt.On(make(chan struct{}))); !matched || !ok {
			t.Errorf("%s: no match with an open channel", name)
		}
		start := testenv.CPUTime()
		if _, ok := Intern(c.source).Match(c.text, interrupt.On(done)); ok {
			t.Errorf("%s: the match was not stopped", name)
		}
		if took := testenv.CPUTime() - start; took > 10*time.Second {
			t.Errorf("%s: took %v to stop", name, took)
		}
	}
}

// TestLongPatternsPoll: a match polls the signal after at most some ten thousand steps, also if the text is short and the
// program is long.
func TestLongPatternsPoll(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		length int
	}{
		"short text": {`^[ab]*a` + strings.Repeat("[ab]{1000}", 10) + `x$`, 2000},
		"long text":  {`^[ab]*a[ab]{1000}x$`, 20_000},
	} {
		polls := 0
		ctx := interrupt.WithHooks(t.Context(), &interrupt.Hooks{Checkpoint: func() { polls++ }})
		p, text := Intern(c.source), strings.Repeat("a", c.length)
		if matched, ok := p.Match(text, interrupt.Of(ctx)); matched || !ok {
			t.Errorf("%s: matched %v, complete %v", name, matched, ok)
		}
		if steps := c.length * int(p.Work()); steps/max(polls, 1) > 3*pollWork {
			t.Errorf("%s: %d polls in at most %d steps", name, polls, steps)
		}
	}
}

func TestPatternsAreSharedAndReleased(t *testing.T) {
	const source = "^only in this test$"
	p := Intern(source)
	if Intern(source) != p {
		t.Error("two Patterns for one text")
	}
	if n, bytes := retained(); n == 0 || bytes == 0 {
		t.Errorf("%d patterns, %d bytes", n, bytes)
	}
	runtime.KeepAlive(p)
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		runtime.GC()
		patterns.Lock()
		_, held := patterns.m[source]
		patterns.Unlock()
		if !held {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("an unused pattern is retained")
}
