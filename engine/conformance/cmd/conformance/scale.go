package main

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/scale"
)

// scaleSuite is the name of the suite that compares the scale subresource and patches, which has its own definitions and objects.
const scaleSuite = "scale"

// scaleShare is the percentage of a whole run's cases that are about scales and patches.
const scaleShare = 2

// scaled runs that suite if it was asked for.
func scaled(f flags) (ran, failed bool) {
	if f.Suite != "" && f.Suite != scaleSuite || f.Generator != "" || f.upstreamOnly {
		return false, false
	}
	cases := f.N
	if f.Suite == "" {
		cases = f.N * scaleShare / 100
	}
	n := scale.Run(scale.Options{N: cases, Seed: f.Seed, Limit: f.Limit, Workers: f.Workers, Log: f.Log})
	fmt.Println(&n)
	fmt.Println(n.Detail())
	return true, n.Failed()
}
