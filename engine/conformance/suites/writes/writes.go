package writes

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// Options of a run.
type Options struct {
	// N is the number of cases, of the named suite or of all together. A case is a registration or an object.
	N    int
	Seed uint64
	// Suite names the suite to run. If it is empty, all run, each with its share of the cases.
	Suite string
	// Generator names the generator to run. If it is empty, all run.
	Generator string
	// Limit ends a suite after that many distinct disagreements. 0 means 20.
	Limit int
	// Out is the folder for reproducers.
	Out string
	// Ours is the implementation under test. If it is nil, only upstream runs.
	Ours Subject
	// Workers is the number of goroutines. 0 means GOMAXPROCS.
	Workers int
	// Log receives progress and results.
	Log io.Writer
	// Unordered, if set, is called for cases where Kubernetes gives varying answers.
	Unordered func(*Disagreement)
	// Noticed, if set, is called for each reported disagreement.
	Noticed func(*Disagreement)
	// Done, if set, is called when a suite ends.
	Done func(Result)
	// First contains groups that a suite runs before the generated ones, by name of the suite.
	First map[string][]generate.Group
	// Quick omits shrinking: the first disagreement is enough.
	Quick bool
}

// Result contains the counts of a suite.
type Result struct {
	Suite                                   string
	Cases, Disagreements, Unordered         int
	Registered, Rejected, Accepted, Objects int
	ReportedFiles                           []string
	Elapsed                                 time.Duration
}

// fewUnordered is a number of unordered cases that means nothing: in a short run, one case in a thousand is a handful,
// and chance determines whether another one follows.
const fewUnordered = 10

// Failed reports whether the suite failed: a disagreement, or varying answers of upstream in more than one case of a
// thousand.
func (r Result) Failed() bool {
	return r.Disagreements > 0 || r.Unordered > max(fewUnordered, r.Cases/1000)
}

// String returns the line that the suite prints.
func (r Result) String() string {
	return fmt.Sprintf("conformance %s: %d cases, %d disagreements, %d unordered", r.Suite, r.Cases, r.Disagreements, r.Unordered)
}

// Detail describes the composition of the cases.
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

// Fixed compares given groups, like the generated ones of a suite.
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

// wave is the number of groups between counts. A suite is a whole number of waves, so that a seed and N give the same
// cases for any number of workers.
const wave = 64

// add adds counts.
func (r *Result) add(o Result) {
	r.Cases += o.Cases
	r.Disagreements += o.Disagreements
	r.Unordered += o.Unordered
	r.Registered += o.Registered
	r.Rejected += o.Rejected
	r.Objects += o.Objects
	r.Accepted += o.Accepted
}

// group compares a group. Its registration is a case, and so is each of its objects if both sides accept the CRD.
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
