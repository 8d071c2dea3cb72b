package openapi

import (
	"fmt"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestCorpus compares the documents of every CRD of the corpus, byte for byte.
func TestCorpus(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	var sum extent
	for i, crd := range c.CRDs {
		if !testenv.Sampled(i) {
			continue
		}
		// Some have rules that are too expensive for a server of today. For documents that does not matter.
		decoded, err := definition.Decode(crd.Doc)
		if err != nil {
			t.Fatalf("%s %s: %v", crd.Module, crd.Path, err)
		}
		canonical, err := schema.Canonical(decoded.CRD)
		if err != nil {
			t.Fatal(err)
		}
		p, err := decode(canonical, fmt.Sprint("corpus ", i))
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
	if sum.documents < testenv.Portion(2*len(c.CRDs)) {
		t.Error("a CRD has no documents")
	}
}
