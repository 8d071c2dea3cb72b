package main

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/cel"
)

// expressionSuite is the name of the suite that compares generated expressions: it has no definitions and no objects, so it is none of package run's.
const expressionSuite = "cel"

// expressionShare is the percentage of a whole run's cases that are expressions.
const expressionShare = 11

// expressions runs that suite if it was asked for.
func expressions(f flags) (ran, failed bool) {
	if f.Suite != "" && f.Suite != expressionSuite || f.Generator != "" {
		return false, false
	}
	cases := f.N
	if f.Suite == "" {
		cases = f.N * expressionShare / 100
	}
	n := cel.Run(cel.Options{N: cases, Seed: f.Seed, Limit: f.Limit, Workers: f.Workers, Quick: f.Quick, Log: f.Log, UpstreamOnly: f.upstreamOnly})
	fmt.Println(&n)
	fmt.Println(n.Detail())
	return true, n.Failed()
}
