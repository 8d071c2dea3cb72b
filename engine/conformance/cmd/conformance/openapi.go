package main

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/openapi"
)

// documentSuite is the name of the suite that compares OpenAPI documents: it has definitions alone, so it is none of package run's.
const documentSuite = "openapi"

// documentShare is the percentage of a whole run's cases that are definitions whose documents are compared. They take upstream long.
const documentShare = 2

// documents runs that suite if it was asked for.
func documents(f flags, real *generate.Real) (ran, failed bool) {
	if f.Suite != "" && f.Suite != documentSuite || f.Generator != "" {
		return false, false
	}
	cases := f.N
	if f.Suite == "" {
		cases = f.N * documentShare / 100
	}
	n := openapi.Run(openapi.Options{N: cases, Seed: f.Seed, Limit: f.Limit, Workers: f.Workers, Log: f.Log, UpstreamOnly: f.upstreamOnly, Real: real})
	fmt.Println(&n)
	fmt.Println(n.Detail())
	return true, n.Failed()
}
