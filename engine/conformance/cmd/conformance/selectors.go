package main

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/selectors"
)

// selectorSuite is the name of the suite that compares field selectors, which has its own definitions and objects.
const selectorSuite = "selectors"

// selectorShare is the percentage of a whole run's cases that are about selectors.
const selectorShare = 2

// selected runs that suite if it was asked for.
func selected(f flags) (ran, failed bool) {
	if f.Suite != "" && f.Suite != selectorSuite || f.Generator != "" || f.upstreamOnly {
		return false, false
	}
	cases := f.N
	if f.Suite == "" {
		cases = f.N * selectorShare / 100
	}
	n := selectors.Run(selectors.Options{N: cases, Seed: f.Seed, Limit: f.Limit, Workers: f.Workers, Log: f.Log})
	fmt.Println(&n)
	fmt.Println(n.Detail())
	return true, n.Failed()
}
