package writes

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// forgetful is upstream without the check of enums.
type forgetful struct{ Upstream }

func (f forgetful) Register(crd []byte) (Definition, oracle.Answer) {
	d, a := f.Upstream.Register(crd)
	if d == nil {
		return nil, a
	}
	return forgetfulDefinition{d}, a
}

func (f forgetful) Update(old *oracle.Registered, crd []byte) (Definition, oracle.Answer) {
	d, a := f.Upstream.Update(old, crd)
	if d == nil {
		return nil, a
	}
	return forgetfulDefinition{d}, a
}

type forgetfulDefinition struct{ Definition }

func (f forgetfulDefinition) Answer(r oracle.Request) oracle.Answer {
	a := f.Definition.Answer(r)
	kept := a.Errors[:0:0]
	for _, e := range a.Errors {
		if e.Type != "FieldValueNotSupported" {
			kept = append(kept, e)
		}
	}
	a.Errors = kept
	return a
}

// lenient is upstream without strict field validation.
type lenient struct{ Upstream }

func (lenient) RegisterStrict([]byte, bool) *oracle.Rejection { return nil }

// TestStrictRegistrations checks that the judge compares the strict decoding of manifests, as JSON and as YAML.
func TestStrictRegistrations(t *testing.T) {
	manifest := []byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"scope":"a","scope":"b","nope":1}}`)
	if diffs := newJudge(lenient{}).compareStrict(manifest); len(diffs) != 2 {
		t.Errorf("%q", diffs)
	}
	if diffs := newJudge(Upstream{}).compareStrict(manifest); len(diffs) != 0 {
		t.Errorf("upstream against itself: %q", diffs)
	}
}

// TestNotices runs generators that need no corpus against a wrong subject and a correct one.
func TestNotices(t *testing.T) {
	mostReruns = leastReruns // neither subject varies
	suite := Suite{Name: "objects", total: 1, parts: []part{{"random", 1, func(r generate.Rand, _ int) generate.Group { return generate.Random(r) }}}}
	var log bytes.Buffer
	out := t.TempDir()
	r := runSuite(suite, Options{N: 2000, Seed: 1, Ours: forgetful{}, Limit: 1, Out: out, Log: &log, Workers: 1})
	if !r.Failed() || len(r.ReportedFiles) == 0 {
		t.Fatalf("%+v", r)
	}
	text, err := os.ReadFile(r.ReportedFiles[0])
	if err != nil || !strings.Contains(string(text), "FieldValueNotSupported") {
		t.Errorf("%s, %v", text, err)
	}
	if len(text) > 4000 {
		t.Errorf("the reproducer has %d bytes: it was not shrunk", len(text))
	}
	if !strings.Contains(log.String(), "DISAGREEMENT objects, seed 1") {
		t.Error(log.String())
	}
	if r := runSuite(suite, Options{N: 500, Seed: 1, Ours: Upstream{}, Log: &log}); r.Failed() || r.Cases < 500 {
		t.Errorf("upstream against itself: %+v", r)
	}
}

// TestGroups: the same seed gives the same groups, another seed others.
func TestGroups(t *testing.T) {
	real, err := generate.NewReal(&corpus.Corpus{})
	if err != nil {
		t.Fatal(err)
	}
	s := Suites(real)[0]
	for _, p := range s.parts {
		if p.name == "pairwise" {
			s = Suite{Name: s.Name, parts: []part{p}, total: p.weight}
		}
	}
	for n := range uint64(20) {
		a, b, c := s.Group(1, n), s.Group(1, n), s.Group(2, n)
		if !bytes.Equal(a.CRD, b.CRD) {
			t.Errorf("group %d differs from itself", n)
		}
		if bytes.Equal(a.CRD, c.CRD) {
			t.Errorf("group %d is the same for two seeds", n)
		}
	}
}
