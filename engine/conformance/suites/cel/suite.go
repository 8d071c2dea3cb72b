package cel

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// Options of a run.
type Options struct {
	// N is the number of cases. A case is one rule on one value.
	N    int
	Seed uint64
	// Limit ends the run after that many distinct disagreements. 0 means 20.
	Limit int
	// Workers is the number of goroutines. 0 means GOMAXPROCS.
	Workers int
	// Quick omits shrinking.
	Quick bool
	// Log receives the disagreements.
	Log io.Writer
	// UpstreamOnly runs upstream only.
	UpstreamOnly bool
}

// Run compares generated expressions.
func Run(o Options) Counts {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if o.Limit == 0 {
		o.Limit = 20
	}
	rep := &reporter{o: o, seen: map[string]int{}, shown: map[string]bool{}}
	groups := uint64((o.N + rulesPerGroup*valuesPerGroup - 1) / (rulesPerGroup * valuesPerGroup))
	var next atomic.Uint64
	results := make([]Counts, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				k := next.Add(1) - 1
				if k >= groups || rep.full.Load() {
					return
				}
				runGroup(o, k, &results[w], rep)
			}
		}()
	}
	wg.Wait()
	var sum Counts
	for i := range results {
		sum.add(&results[i])
	}
	return sum
}

// runGroup compares the k-th group.
func runGroup(o Options, k uint64, n *Counts, rep *reporter) {
	g := Make(o.Seed, k)
	if o.UpstreamOnly {
		n.Cases += len(g.Rules) * len(g.Values)
		exercise(g)
		return
	}
	all := &Case{Schema: g.Schema, Root: g.Root, Rules: g.Rules}
	report := func(c *Case, v Values, probe int, diffs []string) {
		n.Disagreements++
		rep.report(&disagreement{k, c, v, probe, diffs})
	}
	p, diffs, out := guardPair(all, n)
	n.Cases += len(g.Rules) * len(g.Values)
	switch out {
	case different:
		report(all, Values{}, probeCompile, diffs)
		return
	case crashed: // one rule is the cause: the others run alone
		n.Crashed++
		for _, r := range g.Rules {
			one := &Case{Schema: g.Schema, Root: g.Root, Rules: []Rule{r}}
			if p, diffs, out := guardPair(one, n); out == different {
				report(one, Values{}, probeCompile, diffs)
			} else if p != nil {
				values(p, g, n, report)
			}
		}
		return
	}
	values(p, g, n, report)
	v := g.Values[int(k)%len(g.Values)]
	one := &Case{Schema: g.Schema, Root: g.Root, Rules: []Rule{g.Rules[int(k/7)%len(g.Rules)]}}
	if diffs, out := guardLimits(one, v); out == different {
		report(one, v, probeLimits, diffs)
	}
}

func values(p *pairing, g Group, n *Counts, report func(*Case, Values, int, []string)) {
	for _, v := range g.Values {
		diffs, out := guardValue(p, v, n)
		switch out {
		case unordered:
			n.Unordered++
		case different:
			report(p.c, v, probeValue, diffs)
		}
	}
}

// exercise runs upstream only, to measure what the generator reaches.
func exercise(g Group) {
	defer func() { _ = recover() }()
	u, err := newUpstream(&Case{Schema: g.Schema, Root: g.Root, Rules: g.Rules})
	if err != nil {
		return
	}
	for _, v := range g.Values {
		if self, old, err := v.decode(); err == nil {
			u.judge(self, old, 1_000_000, 10_000_000)
		}
	}
}

// The probes: the parts of a case to compare.
const (
	probeCompile = iota
	probeValue
	probeLimits
)

// check runs one probe.
func check(c *Case, v Values, probe int) (diffs []string, out outcome) {
	if probe == probeLimits {
		return guardLimits(c, v)
	}
	p, diffs, out := guardPair(c, &Counts{})
	if p == nil || probe == probeCompile {
		return diffs, out
	}
	return guardValue(p, v, &Counts{})
}

// A panic of ours is a disagreement.

func guardPair(c *Case, n *Counts) (p *pairing, diffs []string, out outcome) {
	defer func() {
		if e := recover(); e != nil {
			p, diffs, out = nil, panicked(e), different
		}
	}()
	return pair(c, n)
}

func guardValue(p *pairing, v Values, n *Counts) (diffs []string, out outcome) {
	defer func() {
		if e := recover(); e != nil {
			diffs, out = panicked(e), different
		}
	}()
	return p.value(v, n)
}

func guardLimits(c *Case, v Values) (diffs []string, out outcome) {
	defer func() {
		if e := recover(); e != nil {
			diffs, out = panicked(e), different
		}
	}()
	return limits(c, v)
}

// disagreement is a case where ours differs.
type disagreement struct {
	group uint64
	c     *Case
	v     Values
	probe int
	diffs []string
}

// reporter groups disagreements by cause, shrinks and prints them.
type reporter struct {
	o    Options
	mu   sync.Mutex
	seen map[string]int
	full atomic.Bool
	// shown counts the printed cases.
	shown map[string]bool
}

// shownPerCause is the number of disagreements that are shrunk per cause.
const shownPerCause = 3

var literalText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\d+`)

// signature is mostly equal for disagreements with the same cause: the kind of the first difference.
func signature(diffs []string) string {
	first, _, _ := strings.Cut(diffs[0], " (limit ")
	if strings.HasPrefix(first, "panic: ") {
		first, _, _ = strings.Cut(first, "\n")
	}
	return literalText.ReplaceAllString(cause(first), "_")
}

func (p *reporter) report(d *disagreement) {
	p.mu.Lock()
	p.seen[signature(d.diffs)]++
	times, distinct := p.seen[signature(d.diffs)], len(p.seen)
	p.mu.Unlock()
	if times > shownPerCause {
		return
	}
	if !p.o.Quick {
		shrinkCase(d)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.o.Log != nil {
		c := *d.c
		c.Self, c.Old = d.v.Self, d.v.Old
		if p.shown[c.String()] {
			return
		}
		p.shown[c.String()] = true
		fmt.Fprintf(p.o.Log, "\nDISAGREEMENT cel, seed %d, group %d\n  %s", p.o.Seed, d.group, clip(c.String()))
		for _, diff := range d.diffs[:min(len(d.diffs), 3)] {
			fmt.Fprintf(p.o.Log, "  - %s\n", clip(diff))
		}
	}
	if distinct >= p.o.Limit {
		p.full.Store(true)
	}
}

// clip shortens long texts.
func clip(s string) string {
	const most = 4000
	if len(s) > most {
		return s[:most] + fmt.Sprintf("… (%d bytes)\n", len(s))
	}
	return s
}
