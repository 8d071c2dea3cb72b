package tables

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/suite"
)

// TestGenerated runs a short suite.
func TestGenerated(t *testing.T) {
	n := Run(Options{Options: suite.Options{N: 2000, Seed: 7, Log: os.Stdout}})
	t.Log(n.String())
	t.Log(n.Detail())
	if n.Failed() {
		t.Error("disagreements")
	}
	if n.Refused*3 > n.Definitions || n.Declined*5 > n.Tables || n.Shown*5 < n.Cells {
		t.Error("the cases say little")
	}
}

// TestCorpus compares the tables of every definition of the corpus.
func TestCorpus(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := Run(Options{Options: suite.Options{Seed: 1, Log: os.Stdout}, Corpus: c})
	t.Log(n.String())
	t.Log(n.Detail())
	if n.Failed() || n.Definitions < len(c.CRDs) {
		t.Errorf("disagreements, or %d definitions of %d", n.Definitions, len(c.CRDs))
	}
}

// TestReproducible: the same numbers make the same case.
func TestReproducible(t *testing.T) {
	now := time.Now()
	a, b := makeGroup(1, 2, now), makeGroup(1, 2, now)
	if string(a.Manifest) != string(b.Manifest) || len(a.Objects) != len(b.Objects) || string(a.Objects[0]) != string(b.Objects[0]) {
		t.Error("two groups of one seed and number differ")
	}
	if x, o := makeTable(1, 2); string(x) == "" || strings.Contains(string(x), "null,null,null,null,null,null,null") {
		t.Error(o)
	}
}
