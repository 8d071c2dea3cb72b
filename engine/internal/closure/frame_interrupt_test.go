package closure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// long are rules that take long on a large object.
var long = []string{
	`self.li.all(x, self.li.all(y, x + y >= 0))`,
	`self.ls.all(x, x in self.lt)`,
	`self.ls.map(x, x).size() > 0`,
	`self.ls.filter(x, self.lt.exists(y, x == y)).size() > 0`,
	`self.s.matches('(a|aa|b)*c$')`,
	`self.s.matches('^(a|b|ab)*$') && self.s.find('x$') == ''`,
	`self.ls == self.lt`,
	`self.ms == self.mt`,
	`self.ms.all(k, self.ms[k] == self.mt[k])`,
	`self.li.all(x, self.li[x % 20000] >= 0)`,
	`self.li.all(x, self.li[19999 - x] >= 0)`,
	`self.lo.all(x, self.lo.exists(y, y.name == x.name && y.v != x.v))`,

	`self.ls.isSorted()`,
	`self.li.sum() > 1`,
	`self.set == self.set`,
	`(self.ls + self.ls + self.ls).all(x, x != 'q')`,
	`self.ls.map(x, self.ls + self.ls).size() > 1`,

	`self.s.split('').size() > 1`,
	`self.s.upperAscii().lowerAscii().replace('a', 'bb').size() > 1`,

	`self.ls.map(x, self.ls.map(y, y)).size() > 1`,
	`self.ls.all(x, self.s + x != '')`,
	`self.ls.all(x, self.s.contains(x))`,
	`self == self`,
}

// TestInterruption: an interrupted rule ends soon, however high its limit is. The test bounds the CPU time between the
// interruption and the end.
func TestInterruption(t *testing.T) {
	u := newUpstream(t, richSchema, false)
	d := tree.Acquire()
	root, err := d.Parse([]byte(largeObject()), tree.Request, tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f := &Frame{Doc: d, Self: root}
	for _, limit := range []uint64{1000000, math.MaxUint64} {
		for _, text := range long {
			c, err := u.compile(text, false)
			if err != nil || c.missing != nil {
				t.Fatal(text, err, c.missing)
			}
			done := make(chan struct{})
			interrupted := make(chan time.Duration, 1)
			timer := time.AfterFunc(5*time.Millisecond, func() {
				close(done)
				interrupted <- testenv.CPUTime()
			})
			f.Limit, f.Stop = limit, interrupt.On(done)
			outcome := c.closure.Eval(f)
			end, used := testenv.CPUTime(), time.Duration(0)
			if !timer.Stop() {
				used = end - <-interrupted
			}
			t.Logf("%-70s %8d: %v, cost %d, %v of CPU after its interruption", text, limit, outcome, f.Cost, used)
			if used > allowedTime {
				t.Errorf("%s, limit %d: %v after %v of CPU", text, limit, outcome, used)
			}
		}
	}
}

// allowedTime bounds the CPU time of an evaluation after its interruption. Some milliseconds are needed. Without
// interruption it takes seconds.
const allowedTime = time.Second

// largeObject returns an object of 3 MB with the lists and maps of the rules.
func largeObject() string {
	list := func(n int, of func(i int) string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(of(i))
		}
		return b.String()
	}
	text := func(i int) string { return fmt.Sprintf("%q", fmt.Sprint("element-", i)) }
	member := func(i int) string { return fmt.Sprintf("%q:\"x\"", fmt.Sprint("member-", i)) }
	return `{"s":"` + strings.Repeat("ab", 400000) + `","ls":[` + list(20000, text) + `],"lt":[` + list(20000, text) + `],"set":[` + list(20000, text) +
		`],"li":[` + list(20000, func(i int) string { return fmt.Sprint(i) }) + `],"lo":[` + list(5000, func(i int) string { return fmt.Sprintf(`{"name":"n%d","v":1}`, i) }) +
		`],"lli":[` + list(5000, func(int) string { return "[1,2]" }) + `],"ms":{` + list(20000, member) + `},"mt":{` + list(20000, member) + `}}`
}

// TestFramesForget: a frame in a pool retains neither a document nor what only large evaluations need.
func TestFramesForget(t *testing.T) {
	u := newUpstream(t, richSchema, false)
	d := tree.Acquire()
	root, err := d.Parse([]byte(largeObject()), tree.Request, tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f := &Frame{Doc: d, Self: root, Limit: math.MaxUint64}
	for _, text := range []string{
		"self.ms.all(k, k != '')",
		"self.li.filter(x, x < 3000).exists(x, x == 7)",
		"self.li.filter(x, x < 3).size() == 3",
	} {
		c, err := u.compile(text, false)
		if err != nil || c.missing != nil {
			t.Fatal(text, err, c.missing)
		}
		if got := c.closure.Eval(f); got != True {
			t.Fatalf("%s: %v", text, got)
		}
	}
	f.Forget()
	isSet := func(v val) bool { return v != val{} }
	for _, list := range [][]val{f.vals, f.stack, f.cells} {
		if list = list[:cap(list)]; len(list) > 2*maxRetained || slices.ContainsFunc(list, isSet) {
			t.Errorf("the frame retains %d values", len(list))
		}
	}
	if f.Doc != nil {
		t.Error("the frame retains the document")
	}
}
