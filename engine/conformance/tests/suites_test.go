package tests

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/suites/conversion"
	"github.com/crdeval/crdeval/engine/conformance/suites/diffs"
	"github.com/crdeval/crdeval/engine/conformance/suites/metamorphic"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
	"github.com/crdeval/crdeval/engine/conformance/suites/scale"
	"github.com/crdeval/crdeval/engine/conformance/suites/selectors"
	"github.com/crdeval/crdeval/engine/conformance/suites/tables"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/testenv"
)

// These tests are short runs of the suites. make conformance runs them with many cases.

func TestSelectors(t *testing.T) {
	var log strings.Builder
	cases := testenv.Volume(150)
	n := selectors.Run(runner.Options{N: cases, Seed: 1, Log: &log})
	if n.Failed() {
		t.Errorf("%s\n%s\n%s", &n, n.Detail(), log.String())
	}
	if n.Cases < cases || n.Selected == 0 || n.Declined == 0 || n.Odd == 0 || n.Rejected*2 > n.Definitions {
		t.Errorf("the generator is off: %s\n%s", &n, n.Detail())
	}
}

// TestDiff also checks that each kind of incompatibility was planted.
func TestDiff(t *testing.T) {
	pairs := testenv.Volume(60)
	n := diffs.Run(runner.Options{N: pairs, Seed: 1, Log: t.Output()})
	t.Log(n.String(), n.Detail())
	if n.Failed() || n.Compared() < pairs {
		t.Error("disagreements")
	}
	if len(n.Kinds) < 15 || n.Kinds["default added"] == 0 || n.Objects < pairs || n.Rejected > pairs/20 {
		t.Error("the generator is off")
	}
}

// TestMetamorphic also checks that histories use each setting of a configuration, and are long enough.
func TestMetamorphic(t *testing.T) {
	histories := testenv.Volume(60)
	n, err := metamorphic.Run(metamorphic.Options{Options: runner.Options{N: histories, Seed: 1, Log: t.Output()}, Only: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(n.String(), n.Detail())
	if n.Failed() || n.Histories < histories {
		t.Error("disagreements")
	}
	if n.Operations < 4*histories || n.Observations < n.Operations || len(n.Settings) < 11 {
		t.Error("the generator is off")
	}
}

// TestMetamorphicHistories runs the histories that once failed.
func TestMetamorphicHistories(t *testing.T) {
	files, err := filepath.Glob("../suites/metamorphic/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no histories:", err)
	}
	for _, file := range files {
		if difference, err := metamorphic.Replay(file); err != nil || difference != "" {
			t.Errorf("%s: %v\n%s", file, err, difference)
		}
	}
}

func TestScale(t *testing.T) {
	var log strings.Builder
	n := scale.Run(runner.Options{N: testenv.Volume(300), Seed: 1, Log: &log})
	if n.Failed() {
		t.Fatalf("%s\n%s", &n, log.String())
	}
	if len(n.Asked) < 3 {
		t.Errorf("too few kinds of request: %v", n.Asked)
	}
	for how, asked := range n.Asked {
		if n.Accepted[how] < asked/10 {
			t.Errorf("%s: %d of %d accepted", how, n.Accepted[how], asked)
		}
	}
	for _, code := range []int32{400, 404, 422, 500} {
		if n.Codes[code] == 0 {
			t.Errorf("no rejection with code %d", code)
		}
	}
}

// TestConversion also checks that each kind of outcome occurs.
func TestConversion(t *testing.T) {
	cases := testenv.Volume(800)
	n := conversion.Run(conversion.Options{Options: runner.Options{N: cases, Seed: 1, Log: t.Output()}})
	t.Log(n.String(), n.Detail())
	if n.Failed() || n.Cases < cases {
		t.Error("disagreements")
	}
	for _, outcome := range []string{"ok", "call", "count", "version", "identity", "metadata", "other 400", "other 422"} {
		if n.Outcomes[outcome]*1000 < n.Cases {
			t.Errorf("the generator is off: outcome %q %d times", outcome, n.Outcomes[outcome])
		}
	}
	if len(n.Behaviours) < 90 || len(n.Asked) < 9 {
		t.Errorf("the generator is off: %d behaviours, calls %v", len(n.Behaviours), n.Asked)
	}
}

// unchanging is a client of webhooks that returns the objects of the request.
type unchanging struct{ conversionwebhook.Converter }

func (u unchanging) Convert(ctx context.Context, r conversionwebhook.Request) ([][]byte, error) {
	if _, err := u.Converter.Convert(ctx, r); err != nil {
		return nil, err
	}
	return r.Objects, nil
}

// TestConversionNotices checks that the suite notices a wrong client.
func TestConversionNotices(t *testing.T) {
	n := conversion.Run(conversion.Options{Options: runner.Options{N: 100, Seed: 1, Limit: 1},
		Wrap: func(c conversionwebhook.Converter) conversionwebhook.Converter { return unchanging{c} }})
	if !n.Failed() {
		t.Error(n.String())
	}
}

func TestTables(t *testing.T) {
	n := tables.Run(tables.Options{Options: runner.Options{N: testenv.Volume(250), Seed: 7, Log: t.Output()}})
	t.Log(n.String(), n.Detail())
	if n.Failed() {
		t.Error("disagreements")
	}
	if n.Rejected*3 > n.Definitions || n.Declined*5 > n.Tables || n.Shown*5 < n.Cells {
		t.Error("the generator is off")
	}
}

// TestTablesOfCorpus compares the tables of the CRDs in the corpus.
func TestTablesOfCorpus(t *testing.T) {
	c := sampledCorpus(t)
	n := tables.Run(tables.Options{Options: runner.Options{Seed: 1, Log: t.Output()}, Corpus: c})
	t.Log(n.String(), n.Detail())
	if n.Failed() || n.Definitions < len(c.CRDs) {
		t.Errorf("disagreements, or %d definitions of %d", n.Definitions, len(c.CRDs))
	}
}

// TestSuitesAreReproducible runs each suite twice with one seed: disagreements are reported by seed and number. Several
// workers may compare one group more than is asked for.
func TestSuitesAreReproducible(t *testing.T) {
	for name, run := range map[string]func(runner.Options) string{
		"selectors": func(o runner.Options) string { n := selectors.Run(o); return n.Detail() },
		"conversion": func(o runner.Options) string {
			n := conversion.Run(conversion.Options{Options: o})
			return n.Detail()
		},
		"scale": func(o runner.Options) string { n := scale.Run(o); return n.Detail() },
	} {
		detail := func(seed uint64) string { return run(runner.Options{N: 20, Seed: seed, Workers: 1, Log: t.Output()}) }
		if first := detail(3); detail(3) != first || detail(4) == first {
			t.Errorf("%s: groups do not depend on the seed only: %s", name, first)
		}
	}
}

// sampledCorpus returns a sample of the CRDs in the corpus, and their objects.
func sampledCorpus(t *testing.T) *corpus.Corpus {
	t.Helper()
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	sample := &corpus.Corpus{}
	indices := map[int]int{} // in the sample, by index in the corpus
	for i, crd := range c.CRDs {
		if testenv.Sampled(i) {
			indices[i] = len(sample.CRDs)
			sample.CRDs = append(sample.CRDs, crd)
		}
	}
	for _, s := range c.Samples {
		crds := s.CRDs
		s.CRDs = nil
		for _, i := range crds {
			if at, ok := indices[i]; ok {
				s.CRDs = append(s.CRDs, at)
			}
		}
		if len(s.CRDs) > 0 {
			sample.Samples = append(sample.Samples, s)
		}
	}
	return sample
}
