package main

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/suites/cel"
	"github.com/crdeval/crdeval/engine/conformance/suites/conversion"
	"github.com/crdeval/crdeval/engine/conformance/suites/diffs"
	"github.com/crdeval/crdeval/engine/conformance/suites/openapi"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
	"github.com/crdeval/crdeval/engine/conformance/suites/scale"
	"github.com/crdeval/crdeval/engine/conformance/suites/selectors"
	"github.com/crdeval/crdeval/engine/conformance/suites/tables"
)

// ownSuite is a suite outside of package run: its cases are not objects of CRDs, or it generates its own CRDs.
type ownSuite struct {
	name string
	// share is the suite's percentage of the cases of a whole run.
	share int
	// subject reports that the suite cannot run upstream alone.
	subject bool
	run     func(runner.Options) counts
}

// counts are the result of such a suite.
type counts interface {
	fmt.Stringer
	Detail() string
	Failed() bool
}

func ownSuites(f flags, c *corpus.Corpus, real *generate.Real) []ownSuite {
	return []ownSuite{
		{"cel", 11, false, func(o runner.Options) counts {
			n := cel.Run(cel.Options{N: o.N, Seed: o.Seed, Limit: o.Limit, Workers: o.Workers, Log: o.Log, Quick: f.Quick, UpstreamOnly: f.upstreamOnly})
			return &n
		}},
		{"selectors", 2, true, func(o runner.Options) counts { n := selectors.Run(o); return &n }},
		{"diff", 1, true, func(o runner.Options) counts { n := diffs.Run(o); return &n }},
		{"scale", 2, true, func(o runner.Options) counts { n := scale.Run(o); return &n }},
		{"conversion", 2, true, func(o runner.Options) counts { n := conversion.Run(conversion.Options{Options: o}); return &n }},
		{"openapi", 2, false, func(o runner.Options) counts { // which is slow in upstream
			n := openapi.Run(openapi.Options{Options: o, UpstreamOnly: f.upstreamOnly, Real: real})
			return &n
		}},
		{"tables", 3, true, func(o runner.Options) counts {
			if f.Suite == "" {
				c = nil // a whole run has no time for all CRDs of the corpus
			}
			n := tables.Run(tables.Options{Options: o, Corpus: c})
			return &n
		}},
		{metamorphicSuite, 5, true, func(o runner.Options) counts { return histories(f, o) }},
	}
}

// own runs the requested suites of this kind.
func own(f flags, c *corpus.Corpus, real *generate.Real) (ran, failed bool) {
	for _, s := range ownSuites(f, c, real) {
		if f.Suite != "" && f.Suite != s.name || f.Generator != "" || s.subject && f.upstreamOnly {
			continue
		}
		o := runner.Options{N: f.N, Seed: f.Seed, Limit: f.Limit, Workers: f.Workers, Log: f.Log}
		if f.Suite == "" {
			o.N = f.N * s.share / 100
		}
		n := s.run(o)
		fmt.Printf("suite %s, N=%d SEED=%d\n", s.name, o.N, o.Seed)
		fmt.Println(n)
		fmt.Println(n.Detail())
		ran, failed = true, failed || n.Failed()
	}
	return ran, failed
}
