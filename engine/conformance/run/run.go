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
	// N is the number of cases of each suite, a case being one registration or one object.
	N    int
	Seed uint64
	// Suite names the one suite to run; empty for all.
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
	// Quick leaves out shrinking: the first disagreement is enough.
	Quick bool
}

// Result is the count of a suite.
type Result struct {
	Suite                                  string
	Cases, Disagreements, Unordered        int
	Registered, Refused, Accepted, Objects int
	ReportedFiles                          []string
	Elapsed                                time.Duration
}

// Failed reports whether the suite is red: a disagreement, or upstream at odds with itself in more than one case of a thousand.
func (r Result) Failed() bool { return r.Disagreements > 0 || r.Unordered*1000 > r.Cases }

// String is the line that the suite prints.
func (r Result) String() string {
	return fmt.Sprintf("conformance %s: %d cases, %d disagreements, %d unordered", r.Suite, r.Cases, r.Disagreements, r.Unordered)
}

// Detail says how the cases were made up.
func (r Result) Detail() string {
	return fmt.Sprintf("  %d definitions (%d refused), %d objects (%d accepted), %s", r.Registered+r.Refused, r.Refused, r.Objects, r.Accepted, r.Elapsed.Round(time.Millisecond))
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
		results = append(results, runSuite(s, o))
	}
	return results
}

// shared generators use few definitions again and again.
func keep(g generate.Group) bool { return len(g.CRD) > 32<<10 }

func runSuite(s Suite, o Options) Result {
	start := time.Now()
	j := newJudge(o.Ours)
	res := Result{Suite: s.Name}
	rep := newReporter(s.Name, o, j)
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	type counts struct{ registered, refused, objects, accepted, unordered, disagreements int }
	total := make([]counts, workers)
	groups := make(chan generate.Group, 2*workers)
	var stop atomic.Bool
	go func() {
		defer close(groups)
		for n, made := uint64(0), 0; made < o.N && !stop.Load(); n++ {
			g := s.Group(o.Seed, n)
			if room := o.N - made - 1; len(g.Objects) > room {
				g.Objects = g.Objects[:room]
			}
			made += 1 + len(g.Objects)
			res.Cases = made
			groups <- g
		}
	}()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := &total[w]
			tally := func(out outcome, d *Disagreement) {
				switch out {
				case unordered:
					c.unordered++
				case different:
					c.disagreements++
					d.Suite, d.Seed = s.Name, o.Seed
					if rep.report(d) {
						stop.Store(true)
					}
				}
			}
			for g := range groups {
				p, out, d := j.registration(g, keep(g))
				tally(out, d)
				if p.upstream == nil {
					c.refused++
				} else {
					c.registered++
				}
				if p.upstream == nil || o.Ours != nil && p.ours == nil {
					continue
				}
				for _, obj := range g.Objects {
					out, d := j.object(g, p, obj)
					c.objects++
					tally(out, d)
				}
			}
		}()
	}
	wg.Wait()
	for _, c := range total {
		res.Registered += c.registered
		res.Refused += c.refused
		res.Objects += c.objects
		res.Unordered += c.unordered
		res.Disagreements += c.disagreements
	}
	res.Elapsed = time.Since(start)
	res.ReportedFiles = rep.files
	return res
}
