package metamorphic

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/shrink"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
)

// Options of a run. A case is a history.
type Options struct {
	runner.Options
	// Store replaces the random choice of a store, if it is not empty.
	Store string
	// Out is the folder for histories that failed. Default: they are only printed.
	Out string
	// Quick does not shrink histories.
	Quick bool
	// Only is the number of the one history to run, if it is not negative.
	Only int
}

// Counts are the result of a run.
type Counts struct {
	Histories, Operations, Observations, Disagreements int
	// First is 1 + the number of the first history that disagreed, 0 for none.
	First int
	// Settings counts the histories by what their configuration changed.
	Settings map[string]int
}

// Compared implements runner.Counts.
func (n Counts) Compared() int { return n.Histories }

// String summarizes the run.
func (n *Counts) String() string {
	return fmt.Sprintf("suite metamorphic: %d histories, %d disagreements", n.Histories, n.Disagreements)
}

// Detail describes what the histories contained.
func (n *Counts) Detail() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %d operations, %d observations", n.Operations, n.Observations)
	for _, name := range slices.Sorted(maps.Keys(n.Settings)) {
		fmt.Fprintf(&b, "; %s %d", name, n.Settings[name])
	}
	return b.String()
}

// Failed reports whether a configuration and the reference differ.
func (n *Counts) Failed() bool { return n.Disagreements > 0 }

// shrinkBudget bounds the runs of a history while it is shrunk.
const shrinkBudget = 400

// Run runs the suite.
func Run(o Options) (Counts, error) {
	p, err := newPool()
	if err != nil {
		return Counts{}, err
	}
	defer p.close()
	var mu sync.Mutex
	first := 0
	run := runner.New[Counts](strings.TrimSpace("metamorphic "+o.Store), o.Options)
	sum := run.Run(0, func(k uint64) Counts {
		if o.Only >= 0 {
			k = uint64(o.Only)
		}
		h, r := makeHistory(o.Seed, k)
		c := configure(r, o.Store)
		n := Counts{Histories: 1, Operations: len(h), Settings: settings(c)}
		var f *failure
		if n.Observations, f = p.difference(c, h); f == nil {
			return n
		}
		n.Disagreements = 1
		mu.Lock()
		if first == 0 || int(k)+1 < first {
			first = int(k) + 1
		}
		mu.Unlock()
		whole := encodeCase(c, h)
		if !o.Quick {
			f = p.shrink(whole, f)
		}
		run.Report(k, f.cause, f.report(o, k, whole))
		return n
	})
	sum.First = first
	return sum, nil
}

// settings counts what a configuration changes.
func settings(c configuration) map[string]int {
	n := map[string]int{}
	for _, m := range c.encode().Members {
		setting := m.Key
		if value, isText := m.Value.Text(); isText {
			setting += " " + value
		}
		n[setting]++
	}
	return n
}

// failure is a difference between a configuration and the reference.
type failure struct{ cause, difference string }

// report describes a failure. It writes the case to a file that can be replayed.
func (f *failure) report(o Options, k uint64, n *jsontree.Node) string {
	again := fmt.Sprintf("go run ./cmd/conformance -coverage=false -suite metamorphic -seed %d -history %d", o.Seed, k)
	if o.Store != "" {
		again += " -store " + o.Store
	}
	if o.Out != "" {
		if file, err := write(o.Out, o.Seed, k, n); err == nil {
			again += "\nor            go run ./cmd/conformance -coverage=false -suite metamorphic -replay " + file
		}
	}
	return fmt.Sprintf("%s\n%s\ncase          %s\nreproduce it: %s", f.cause, f.difference, n, again)
}

// shrink makes a case smaller in place, as long as it fails in the same part of an answer.
func (p *pool) shrink(n *jsontree.Node, f *failure) *failure {
	kind := strings.Fields(f.cause)[0]
	fails := func() bool {
		c, h, err := decodeCase(n)
		if err != nil {
			return false
		}
		_, smaller := p.difference(c, h)
		if smaller == nil || strings.Fields(smaller.cause)[0] != kind {
			return false
		}
		f = smaller
		return true
	}
	shrink.Documents(fails, shrinkBudget, n.Get("history"), n.Get("configuration"))
	return f
}

// pool has servers that are free, and the stores of all.
type pool struct {
	disk *disk

	mu   sync.Mutex
	free []*server
}

func newPool() (*pool, error) {
	d, err := newDisk()
	return &pool{disk: d}, err
}

func (p *pool) close() {
	for _, s := range p.free {
		s.close()
	}
	p.disk.close()
}

func (p *pool) take() (*server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		return s, nil
	}
	return newServer(context.Background(), p.disk.newName())
}

func (p *pool) put(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, s)
}

// difference runs a history in the reference and in a configuration. It returns how much the client observed, and the
// first difference, or nil.
func (p *pool) difference(c configuration, h history) (observations int, f *failure) {
	s, err := p.take()
	if err != nil {
		return 0, &failure{"setup", err.Error()}
	}
	defer p.put(s)
	if c.YAML {
		h = sortedDocuments(h)
	}
	want, err := play(s, p.disk, configuration{}, c, h)
	if err != nil {
		return 0, &failure{"reference", err.Error()}
	}
	got, err := play(s, p.disk, c, c, h)
	if err != nil {
		return 0, &failure{"configuration", err.Error()}
	}
	if cause, difference := compare(want, got); difference != "" {
		return len(want), &failure{cause, difference}
	}
	return len(want), nil
}
