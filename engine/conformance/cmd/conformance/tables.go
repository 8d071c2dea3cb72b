package main

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/tables"
)

// tableSuite is the name of the suite that compares tables and what kubectl prints of them: it begins with the definitions of the corpus, and goes on with its own.
const tableSuite = "tables"

// tableShare is the percentage of a whole run's cases that are about tables.
const tableShare = 3

// tabled runs that suite if it was asked for.
func tabled(f flags, c *corpus.Corpus) (ran, failed bool) {
	if f.Suite != "" && f.Suite != tableSuite || f.Generator != "" || f.upstreamOnly {
		return false, false
	}
	o := tables.Options{N: f.N, Seed: f.Seed, Limit: f.Limit, Workers: f.Workers, Log: f.Log, Corpus: c}
	if f.Suite == "" {
		o.N, o.Corpus = f.N*tableShare/100, nil
	}
	n := tables.Run(o)
	fmt.Println(&n)
	fmt.Println(n.Detail())
	return true, n.Failed()
}
