package openapi

import (
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
)

// TestCorpus compares the documents of every CRD of the corpus, byte for byte.
func TestCorpus(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	var sum extent
	for _, crd := range c.CRDs {
		d, report, err := engine.Compile(t.Context(), engine.JSON(crd.Doc), engine.Options{})
		if err != nil {
			t.Fatalf("%s %s: %v", crd.Module, crd.Path, err)
		}
		if !report.Accepted {
			t.Errorf("%s %s is refused", crd.Module, crd.Path)
			continue
		}
		p, err := publish(d.Manifest(), d.Revision())
		if err != nil {
			t.Fatal(err)
		}
		n, differences := compare(t.Context(), []published{p})
		if len(differences) > 0 {
			t.Errorf("%s %s: %v", crd.Module, crd.Path, differences)
		}
		sum.documents, sum.bytes = sum.documents+n.documents, sum.bytes+n.bytes
	}
	t.Logf("%d CRDs, %d documents, %d bytes", len(c.CRDs), sum.documents, sum.bytes)
}
