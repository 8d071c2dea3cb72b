// Package writes compares registrations of CRDs and writes of objects: the suites objects, updates and crds.
package writes

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// Suite is a named mixture of generators.
type Suite struct {
	Name string
	// Share is the suite's percentage of the cases of a whole run. Suites with their own cases have the remaining
	// percentage (see cmd/conformance).
	Share int
	// parts are generators and their weights.
	parts []part
	total int
	// whole means that writes also go to the API server's request handlers.
	whole bool
}

type part struct {
	name   string
	weight int
	make   func(r generate.Rand, n int) generate.Group
}

// Suites lists the suites in their order.
func Suites(real *generate.Real) []Suite {
	seq := func(f func(generate.Rand) generate.Group) func(generate.Rand, int) generate.Group {
		return func(r generate.Rand, _ int) generate.Group { return f(r) }
	}
	suites := []Suite{
		{Name: "objects", Share: 42, parts: []part{
			{"samples", 16, real.Sample},
			{"real", 8, real.Generated},
			{"pairwise", 36, generate.Pairwise},
			{"random", 24, seq(generate.Random)},
			{"rules", 30, seq(generate.Rules)},
			{"limits", 1, seq(generate.Limits)},
			{"edges", 10, seq(generate.Edges)},
			{"formats", 10, generate.FormatGroup},
			{"metadata", 8, seq(generate.Metadata)},
			{"transforms", 10, real.Transforms},
			{"jsonschema", 2, func(_ generate.Rand, n int) generate.Group { return real.SchemaSuite(n) }},
		}},
		{Name: "updates", Share: 30, whole: true, parts: []part{
			{"writes", 40, seq(generate.Writes)},
			{"updates", 40, seq(generate.Updates)},
			{"samples", 12, func(r generate.Rand, n int) generate.Group { return generate.UpdatesOf(r, real.Sample(r, n)) }},
			{"real", 8, func(r generate.Rand, n int) generate.Group { return generate.UpdatesOf(r, real.Generated(r, n)) }},
			{"pairwise", 16, func(r generate.Rand, n int) generate.Group { return generate.UpdatesOf(r, generate.Pairwise(r, n)) }},
			{"edges", 6, func(r generate.Rand, _ int) generate.Group { return generate.UpdatesOf(r, generate.Edges(r)) }},
			{"metadata", 8, func(r generate.Rand, _ int) generate.Group { return generate.UpdatesOf(r, generate.Metadata(r)) }},
		}},
		{Name: "crds", Share: 8, parts: []part{
			{"definitions", 1, func(_ generate.Rand, n int) generate.Group { return real.Definition(n) }},
			{"again", 1, real.Again},
			{"replaced", 140, seq(real.Replaced)},
			{"mutants", 50, func(r generate.Rand, n int) generate.Group { return real.Mutant(r, r.IntN(real.Mutants())) }},
			{"rules", 8, func(r generate.Rand, n int) generate.Group { return real.RuleMutant(r, n) }},
			{"expressions", 25, seq(generate.Expressions)},
			{"forms", 25, seq(generate.Form)},
			{"broken", 15, seq(generate.Broken)},
		}},
	}
	for i := range suites {
		for _, p := range suites[i].parts {
			suites[i].total += p.weight
		}
	}
	return suites
}

// Group returns the n-th group of the suite. A generator permutes its groups by the seed, so that short runs do not
// always test the same ones.
func (s Suite) Group(seed, n uint64) generate.Group {
	at := int(n % uint64(s.total))
	round := int(n / uint64(s.total))
	for _, p := range s.parts {
		if at < p.weight {
			k := round*p.weight + at
			g := p.make(generate.New(s.Name+"/"+p.name, seed, uint64(k)), spread(seed, k))
			g.Name = fmt.Sprintf("%s (%s %d)", g.Name, p.name, k)
			return g
		}
		at -= p.weight
	}
	panic("writes: weights do not add up")
}

// spread maps 0, 1, 2, … to numbers that reach every residue of a modulus below 2^30 early, in an order that depends on
// the seed.
func spread(seed uint64, k int) int {
	return int((seed*2654435761 + uint64(k)*1000003) & (1<<40 - 1))
}
