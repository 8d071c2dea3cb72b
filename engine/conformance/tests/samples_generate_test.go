package tests

import (
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestGeneratedSamples generates samples of the corpus' CRDs: each CRD has valid ones, whose status can be written, too,
// and at least nine of ten constraints are violated alone. Package engine checks the violations of the samples of other CRDs.
func TestGeneratedSamples(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	strict := engine.EvaluationOptions{FieldValidation: engine.FieldValidationStrict, CompleteMetadata: true}
	versions, invalid, unbroken, rules, unbrokenRules, statuses := 0, 0, 0, 0, 0, 0
	for i, crd := range c.CRDs {
		if !testenv.Sampled(i) {
			continue
		}
		d, _, err := engine.Compile(t.Context(), engine.JSON(crd.Doc), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d == nil {
			continue // an API server rejects it
		}
		s, err := suite.Generate(t.Context(), d, suite.GenerateOptions{Valid: 3, Invalid: min(40, testenv.Volume(6)), Seed: 1})
		if err != nil {
			t.Errorf("%s: %v", crd.Name, err)
			continue
		}
		if versions++; len(s.Valid) == 0 {
			t.Errorf("%s: no valid object: %v", crd.Name, s.Unsatisfied)
		}
		for _, list := range [][]suite.Sample{s.Valid, s.Invalid} {
			for _, x := range list {
				item := engine.Item{Version: s.Version, Object: engine.JSON(x.Object), Subresource: x.Subresource}
				if x.OldObject != nil {
					item.OldObject = engine.JSON(x.OldObject)
				}
				v, err := d.Validate(t.Context(), item, strict)
				if err != nil || v.Allowed != (x.Constraint == nil) {
					t.Errorf("%s: %v: %s: %+v, %v", crd.Name, x.Constraint, x.Object, v, err)
				}
				if x.Constraint == nil && hasStatus(d, s.Version) {
					checkStatusWrite(t, d, item)
					statuses++
				}
				if x.Constraint != nil && x.Constraint.Kind == "rule" {
					rules++
				}
			}
		}
		for _, x := range s.Unbroken {
			if x.Kind == "rule" {
				unbrokenRules++
			}
		}
		invalid, unbroken = invalid+len(s.Invalid), unbroken+len(s.Unbroken)
	}
	t.Logf("%d CRDs: %d constraints violated alone, %d not; of them %d rules, and %d not",
		versions, invalid, unbroken, rules, unbrokenRules)
	if versions == 0 || statuses < versions || unbroken > invalid/10 || unbrokenRules > rules/2 {
		t.Errorf("too few constraints are violated alone, or only %d statuses are written", statuses)
	}
}

// hasStatus reports whether the status of a version is a subresource.
func hasStatus(d *engine.Definition, version string) bool {
	return slices.ContainsFunc(d.Versions(), func(v engine.VersionInfo) bool { return v.Name == version && v.HasStatus })
}

// checkStatusWrite checks that an object is created, and that its status is written then.
func checkStatusWrite(t *testing.T, d *engine.Definition, item engine.Item) {
	t.Helper()
	created, err := d.Admit(t.Context(), item, engine.EvaluationOptions{})
	if err != nil || !created.Allowed {
		t.Errorf("%s: %+v, %v", d.Name(), created, err)
		return
	}
	item.OldObject, item.Subresource = engine.JSON(created.Object), "status"
	if v, err := d.Validate(t.Context(), item, engine.EvaluationOptions{CompleteMetadata: true}); err != nil || !v.Allowed {
		t.Errorf("%s: a write of the status is rejected: %+v, %v", d.Name(), v, err)
	}
}
