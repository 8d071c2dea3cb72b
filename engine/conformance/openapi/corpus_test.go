package openapi

import (
	"bytes"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/internal/definition"
)

// TestCorpus compares the documents of every CRD of the corpus, byte for byte.
func TestCorpus(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	documents, bytesOf := 0, 0
	for _, crd := range c.CRDs {
		d, report, err := engine.Compile(t.Context(), engine.JSON(crd.Doc), engine.Options{})
		if err != nil {
			t.Fatalf("%s %s: %v", crd.Module, crd.Path, err)
		}
		if !report.Accepted {
			continue
		}
		n, differences := compare(t.Context(), d)
		if len(differences) > 0 {
			t.Errorf("%s %s: %v", crd.Module, crd.Path, differences)
		}
		documents, bytesOf = documents+n.documents, bytesOf+n.bytes
	}
	t.Logf("%d CRDs, %d documents, %d bytes", len(c.CRDs), documents, bytesOf)
}

var _ = bytes.Equal
var _ = definition.Decode
