package openapi

import (
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestSuite compares the documents of some generated CRDs.
func TestSuite(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	real, err := generate.NewReal(c)
	if err != nil {
		t.Fatal(err)
	}
	cases := testenv.Volume(100)
	n := Run(Options{Options: runner.Options{N: cases, Seed: 1, Log: t.Output()}, Real: real})
	t.Log(&n)
	t.Log(n.Detail())
	if n.Failed() || n.Cases < cases {
		t.Fail()
	}
	if n.Unpublished == 0 || n.Unacceptable == 0 || n.Unacceptable > n.Cases*2/3 {
		t.Errorf("the generator has lost its balance: %+v", n)
	}
}

// TestKinds compares the documents of CRDs with all kinds of the generator, also those that a $ref escapes.
func TestKinds(t *testing.T) {
	for i, kind := range kinds {
		m := &maker{Rand: generate.New("openapi kinds", 1, uint64(i)), group: groups[0]}
		decoded, err := definition.Decode(m.manifest(kind).JSON())
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := schema.Canonical(decoded.CRD)
		if err != nil {
			t.Fatal(err)
		}
		p, err := decode(canonical, kind)
		if err != nil {
			t.Fatal(err)
		}
		_, differences := compare(t.Context(), []published{p})
		for _, difference := range differences {
			t.Errorf("%s: %s", kind, difference)
		}
	}
}
