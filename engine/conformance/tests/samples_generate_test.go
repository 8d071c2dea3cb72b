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
	strict := engine.ValidateOptions{FieldValidation: engine.FieldValidationStrict, CompleteMetadata: true}
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
				create := engine.Create{Version: s.Version, Object: engine.JSON(x.Object)}
				var w engine.Write = create
				if x.OldObject != nil {
					w = engine.Update{
						Version: s.Version, Object: create.Object, Old: engine.JSON(x.OldObject), Subresource: x.Subresource,
					}
				}
				v, err := d.Validate(t.Context(), w, strict)
				if err != nil || v.Allowed != (x.Constraint == nil) {
					t.Errorf("%s: %v: %s: %+v, %v", crd.Name, x.Constraint, x.Object, v, err)
				}
				if x.Constraint == nil && hasStatus(d, s.Version) {
					checkStatusWrite(t, d, create)
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
func checkStatusWrite(t *testing.T, d *engine.Definition, item engine.Create) {
	t.Helper()
	created, err := d.Admit(t.Context(), item, engine.AdmitOptions{})
	if err != nil || !created.Allowed {
		t.Errorf("%s: %+v, %v", d.Name(), created, err)
		return
	}
	status := engine.Update{
		Version: item.Version, Object: item.Object, Old: engine.JSON(created.Object), Subresource: "status",
	}
	if v, err := d.Validate(t.Context(), status, engine.ValidateOptions{CompleteMetadata: true}); err != nil || !v.Allowed {
		t.Errorf("%s: a write of the status is rejected: %+v, %v", d.Name(), v, err)
	}
}
