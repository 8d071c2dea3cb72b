package tests

import (
	"bytes"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	subject "github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestCorpusRegistersAlike creates every CRD of the corpus, and replaces each by itself and by every other one with its
// name: several modules contain different versions of a CRD.
func TestCorpusRegistersAlike(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string][]int{}
	var groups []generate.Group
	selves, others := 0, 0
	for i, crd := range c.CRDs {
		if testenv.Sampled(i) {
			groups = append(groups, generate.Group{Name: crd.Path + " of " + crd.Module, CRD: crd.Doc})
		}
		named[crd.Name] = append(named[crd.Name], i)
	}
	for i, crd := range c.CRDs {
		if !testenv.Sampled(i) {
			continue
		}
		for _, k := range named[crd.Name] {
			other := c.CRDs[k]
			if &other.Doc[0] != &crd.Doc[0] && bytes.Equal(other.Doc, crd.Doc) {
				continue
			}
			if &other.Doc[0] == &crd.Doc[0] {
				selves++
			} else {
				others++
			}
			groups = append(groups, generate.Group{Name: crd.Path + " of " + crd.Module + ", replaced by that of " + other.Module, CRD: other.Doc,
				Previous: &oracle.Previous{Manifest: crd.Doc, Established: true, Generation: 1}})
		}
	}
	r := writes.Fixed(groups, writes.Options{Ours: subject.Engine{}, Log: t.Output()})
	t.Logf("%d definitions, %d replaced by themselves, %d by others: %s", len(c.CRDs), selves, others, r.Detail())
	if r.Disagreements > 0 || r.Cases != len(groups) {
		t.Errorf("%+v", r)
	}
	if selves < testenv.Portion(200) || others < testenv.Portion(60) {
		t.Errorf("%d definitions replaced by themselves, %d by others", selves, others)
	}
}
