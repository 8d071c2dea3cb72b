package runner

import (
	"maps"
	"strings"
	"testing"
)

type counts struct {
	Cases int
	Kinds map[string]int
}

func (c counts) Compared() int { return c.Cases }

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		first   uint64
		cases   int
		odd     int
	}{
		"as many as asked for":            {Options{N: 100, Workers: 1}, 0, 102, 17},
		"by several":                      {Options{N: 3000, Workers: 4}, 1000, 3000, 500},
		"the first groups, however few":   {Options{Workers: 1}, 7, 21, 3},
		"until there are enough distinct": {Options{N: 100, Workers: 1, Limit: 1}, 0, 6, 1},
		"of the first groups, too":        {Options{Workers: 1, Limit: 1}, 7, 6, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			c.options.Log = &log
			r := New[counts]("tested", c.options)
			sum := r.Run(c.first, func(k uint64) counts {
				n := counts{Cases: 3, Kinds: map[string]int{"all": 1}}
				if k%2 == 1 {
					n.Kinds["odd"]++
					if c.options.Limit > 0 {
						r.Report(k, "cause", "what")
					}
				}
				return n
			})
			want := map[string]int{"all": c.cases / 3, "odd": c.odd}
			if least := sum.Cases >= c.cases && sum.Cases < c.cases+3*c.options.Workers; !least || c.options.Workers == 1 && !maps.Equal(sum.Kinds, want) {
				t.Errorf("%+v, not %d cases %v", sum, c.cases, want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	var log strings.Builder
	r := New[counts]("tested", Options{Log: &log, Seed: 5})
	for k, cause := range []string{`a "x" 1`, `a "y" 22`, `a "z \" q" 3`, "b"} {
		r.Report(uint64(k), cause, cause)
	}
	want := "\nDISAGREEMENT tested, seed 5, group 0: a \"x\" 1\n" + "\nDISAGREEMENT tested, seed 5, group 1: a \"y\" 22\n" + "\nDISAGREEMENT tested, seed 5, group 3: b\n"
	if log.String() != want || len(r.seen) != 2 {
		t.Errorf("%s%v", &log, r.seen)
	}
}
