package run

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// Options say what to run.
type Options struct {
	// N is the number of cases, a case being one registration or one object: of the one suite, or of all together.
	N    int
	Seed uint64
	// Suite names the one suite to run; empty for all, each with its share of the cases.
	Suite string
	// Generator names the one generator of a suite to run; empty for all.
	Generator string
	// Limit ends a suite after that many distinct disagreements; 0 means 20.
	Limit int
	// Out is the folder for reproducers.
	Out string
	// Ours is the implementation under test; nil exercises upstream alone.
	Ours Subject
	// Workers is the number of goroutines; 0 means GOMAXPROCS.
	Workers int
	// Log receives lines of progress and results.
	Log io.Writer
	// Unordered, if set, is called for cases for which Kubernetes gives different answers.
	Unordered func(*Disagreement)
	// Noticed, if set, is called for each reported disagreement.
	Noticed func(*Disagreement)
	// Done, if set, is called when a suite ends.
	Done func(Result)
	// First are groups that a suite has before those that it generates, by its name.
	First map[string][]generate.Group
	// Quick leaves out shrinking: the first disagreement is enough.
	Quick bool
}

// Result is the count of a suite.
type Result struct {
	Suite                                   string
	Cases, Disagreements, Unordered         int
	Registered, Rejected, Accepted, Objects int
	ReportedFiles                           []string
	Elapsed                                 time.Duration
}

// fewUnordered cases are no sign of anything: of a short run, one in a thousand is a handful, and chance decides about
// the next one.
const fewUnordered = 10

// Failed reports whether the suite is red: a disagreement, or upstream at odds with itself in more than one case of a
// thousand.
func (r Result) Failed() bool {
	return r.Disagreements > 0 || r.Unordered > max(fewUnordered, r.Cases/1000)
}

// String is the line that the suite prints.
func (r Result) String() string {
	return fmt.Sprintf("conformance %s: %d cases, %d disagreements, %d unordered", r.Suite, r.Cases, r.Disagreements, r.Unordered)
}

// Detail says how the cases were made up.
func (r Result) Detail() string {
	return fmt.Sprintf("  %d definitions (%d rejected), %d objects (%d accepted), %s", r.Registered+r.Rejected, r.Rejected, r.Objects, r.Accepted, r.Elapsed.Round(time.Millisecond))
}

// Run runs the suites.
func Run(real *generate.Real, o Options) []Result {
	var results []Result
	for _, s := range Suites(real) {
		if o.Suite != "" && o.Suite != s.Name {
			continue
		}
		if o.Generator != "" {
			var kept []part
			for _, p := range s.parts {
				if p.name == o.Generator {
					kept = append(kept, p)
					s.total = p.weight
				}
			}
			if len(kept) == 0 {
				continue
			}
			s.parts = kept
		}
		own := o
		if o.Suite == "" {
			own.N = o.N * s.Share / 100
		}
		r := runSuite(s, own)
		if results = append(results, r); o.Done != nil {
			o.Done(r)
		}
	}
	return results
}

// Fixed judges groups that are given, as a suite does those that it makes.
func Fixed(groups []generate.Group, o Options) Result {
	return runSuite(Suite{Name: "fixed"}, Options{Limit: o.Limit, Out: o.Out, Ours: o.Ours, Workers: o.Workers, Log: o.Log, Noticed: o.Noticed, Quick: o.Quick,
		First: map[string][]generate.Group{"fixed": groups}})
}

func runSuite(s Suite, o Options) Result {
	start := time.Now()
	first := o.First[s.Name]
	j := newJudge(o.Ours)
	j.unordered, j.quick, j.whole = o.Unordered, o.Quick, s.whole || s.Name == "fixed"
	res := Result{Suite: s.Name}
	rep := newReporter(s.Name, o, j)
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var stop atomic.Bool
	for next := uint64(0); (next == 0 && len(first) > 0 || res.Cases < o.N) && !stop.Load(); next += wave {
		groups := make(chan generate.Group, workers)
		go func() {
			defer close(groups)
			for _, g := range first {
				groups <- g
			}
			for n := next; n < next+wave && s.total > 0 && !stop.Load(); n++ {
				groups <- s.Group(o.Seed, n)
			}
			first = nil
		}()
		results := make([]Result, workers)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for g := range groups {
					j.group(g, &results[w], func(d *Disagreement) {
						d.Suite, d.Seed = s.Name, o.Seed
						if rep.report(d) {
							stop.Store(true)
						}
					})
				}
			}()
		}
		wg.Wait()
		for _, r := range results {
			res.add(r)
		}
	}
	res.Elapsed = time.Since(start)
	res.ReportedFiles = rep.files
	return res
}

// wave is the number of groups after which cases are counted: a suite is a whole number of waves, so that the same seed
// and N make the same cases whatever the number of workers.
const wave = 64

// add sums up counts.
func (r *Result) add(o Result) {
	r.Cases += o.Cases
	r.Disagreements += o.Disagreements
	r.Unordered += o.Unordered
	r.Registered += o.Registered
	r.Rejected += o.Rejected
	r.Objects += o.Objects
	r.Accepted += o.Accepted
}

// group judges a group: its registration is a case, and each of its objects if both sides serve the definition.
func (j *judge) group(g generate.Group, c *Result, differs func(*Disagreement)) {
	tally := func(out outcome, d *Disagreement) {
		c.Cases++
		switch out {
		case unordered:
			c.Unordered++
			if j.unordered != nil {
				j.unordered(d)
			}
		case different:
			c.Disagreements++
			differs(d)
		}
	}
	p, out, d := j.registration(g)
	tally(out, d)
	if p.upstream == nil {
		c.Rejected++
		return
	}
	c.Registered++
	if j.ours != nil && p.ours == nil {
		return
	}
	for _, o := range g.Objects {
		out, accepted, d := j.object(g, p, o)
		c.Objects++
		if accepted {
			c.Accepted++
		}
		tally(out, d)
	}
}
