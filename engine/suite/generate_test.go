package suite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/testenv"
)

// samplesOf generates the samples of a definition, and checks each with another evaluation.
func samplesOf(t *testing.T, d *engine.Definition, o suite.GenerateOptions) *suite.Samples {
	t.Helper()
	s, err := suite.Generate(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	strict := engine.ValidateOptions{FieldValidation: engine.FieldValidationStrict, CompleteMetadata: true}
	for _, x := range s.Valid {
		v, err := d.Validate(t.Context(), engine.Create{Version: s.Version, Object: engine.JSON(x.Object)}, strict)
		if err != nil || !v.Allowed || !x.Verdict.Allowed || x.Constraint != nil {
			t.Errorf("%s: a valid object is rejected: %s: %+v, %v", d.Name(), x.Object, v, err)
		}
		checkStatusWrite(t, d, s.Version, x.Object)
	}
	for _, x := range s.Invalid {
		var item engine.Write = engine.Create{Version: s.Version, Object: engine.JSON(x.Object)}
		if x.OldObject != nil {
			item = engine.Update{
				Version: s.Version, Object: engine.JSON(x.Object), Old: engine.JSON(x.OldObject), Subresource: x.Subresource,
			}
		}
		v, err := d.Validate(t.Context(), item, strict)
		if err != nil || v.Allowed || x.Verdict.Allowed {
			t.Errorf("%s: an invalid object is allowed: %s: %s: %v", d.Name(), x.Constraint, x.Object, err)
			continue
		}
		checkViolations(t, d.Name(), &x, v)
	}
	return s
}

// checkStatusWrite checks that a write of the status of a created object is allowed, if the status is a subresource.
func checkStatusWrite(t *testing.T, d *engine.Definition, version string, object []byte) {
	t.Helper()
	for _, v := range d.Versions() {
		if v.Name != version || !v.HasStatus {
			continue
		}
		item := engine.Create{Version: version, Object: engine.JSON(object)}
		created, err := d.Admit(t.Context(), item, engine.AdmitOptions{})
		if err != nil || !created.Allowed {
			t.Fatalf("%s: %s: %+v, %v", d.Name(), object, created, err)
		}
		status := engine.Update{Version: version, Object: item.Object, Old: engine.JSON(created.Object), Subresource: "status"}
		if v, err := d.Validate(t.Context(), status, engine.ValidateOptions{CompleteMetadata: true}); err != nil ||
			!v.Allowed {
			t.Errorf("%s: a write of the status is rejected: %s: %+v, %v", d.Name(), object, v, err)
		}
	}
}

// checkViolations checks that a verdict has the violation of one constraint only.
func checkViolations(t *testing.T, name string, x *suite.Sample, v *engine.Verdict) {
	t.Helper()
	c := x.Constraint
	if c.Kind == "unknown field" {
		if len(v.Violations) != 1 || v.Violations[0].Type != engine.TypeUnknownField || strings.Count(v.Rejection.Message, `unknown field "`) != 1 {
			t.Errorf("%s: %s: %s has %s", name, c, x.Object, v.Rejection.Message)
		}
		return
	}
	hits := 0
	for _, found := range v.Violations {
		p := found.SchemaPointer
		operator := slices.ContainsFunc([]string{"/allOf", "/anyOf", "/oneOf", "/not"}, func(s string) bool {
			above := strings.TrimSuffix(p, s)
			return above != p && strings.HasPrefix(c.SchemaPointer, above+"/") ||
				strings.HasPrefix(p, c.SchemaPointer[:strings.LastIndex(c.SchemaPointer, "/")]+s+"/")
		})
		switch {
		case p == c.SchemaPointer:
			if hits++; c.Name != "" && !strings.HasSuffix(found.Pointer, "/"+c.Name) {
				t.Errorf("%s: %s: %s lacks %s", name, c, x.Object, found.Pointer)
			}
		case strings.HasPrefix(found.Detail, "some validation rules were not checked"), operator:
		default:
			t.Errorf("%s: %s: %s also violates %s", name, c, x.Object, p)
		}
	}
	if hits != 1 {
		t.Errorf("%s: %s: %s has %d violations of it", name, c, x.Object, hits)
	}
}

// TestSamples: each constraint of the sample CRDs is broken alone, except for the listed ones, which imply others.
func TestSamples(t *testing.T) {
	testenv.SingleGoroutine(t)
	unbroken := map[string][]string{
		"crontabs":  {"spec: type", "status: type", "spec.replicas: type", "status.replicas: type"},
		"databases": {"spec.maxReplicas: minimum", "spec.engine: type", "spec.backup.startAfter: type"},
	}
	files, err := filepath.Glob("../../deploy/samples/crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := engine.Compile(t.Context(), engine.YAML(text), engine.Options{})
		if err != nil || d == nil {
			t.Fatal(err)
		}
		for seed := range uint64(3) {
			s := samplesOf(t, d, suite.GenerateOptions{Valid: 3, Invalid: 1000, Seed: seed})
			if len(s.Valid) != 3 || s.Unsatisfied != nil || s.Closest != nil {
				t.Errorf("%s: %d valid objects, %v", file, len(s.Valid), s.Unsatisfied)
			}
			var left []string
			for _, c := range s.Unbroken {
				left = append(left, c.String())
			}
			if want := unbroken[d.Plural()]; d.Plural() != "pipelines" && !slices.Equal(left, want) {
				t.Errorf("%s, seed %d: not broken: %q, want %q", file, seed, left, want)
			}
		}
	}
}

func TestSamplesAreDeterministic(t *testing.T) {
	d := fixture.Thing(t, `{type: object, required: [a], properties: {a: {type: string, minLength: 1, pattern: "^[a-z]+$"}, b: {type: integer, maximum: 7}}, x-kubernetes-validations: [{rule: "!has(self.b) || self.b != 3"}]}`)
	texts := map[string]bool{}
	for _, seed := range []uint64{1, 1, 2} {
		s := samplesOf(t, d, suite.GenerateOptions{Valid: 4, Invalid: 20, Seed: seed})
		text := ""
		for _, x := range slices.Concat(s.Valid, s.Invalid) {
			text += string(x.Object) + "\n"
		}
		texts[text] = true
		if len(s.Unbroken) > 0 {
			t.Errorf("seed %d: not broken: %v", seed, s.Unbroken)
		}
	}
	if len(texts) != 2 {
		t.Errorf("%d different results for two seeds", len(texts))
	}
}

// TestSamplesOfEmptyRange checks that the closest object violates only one of two contradicting bounds.
func TestSamplesOfEmptyRange(t *testing.T) {
	d := fixture.Thing(t, `{type: object, required: [a], properties: {a: {type: integer, minimum: 5, maximum: 4}}}`)
	manifest := strings.Replace(string(d.Manifest()), `"openAPIV3Schema":{`, `"openAPIV3Schema":{"required":["spec"],`, 1)
	d, _, err := engine.Compile(t.Context(), engine.JSON([]byte(manifest)), engine.Options{})
	if err != nil || d == nil {
		t.Fatal(err)
	}
	s, err := suite.Generate(t.Context(), d, suite.GenerateOptions{Valid: 1})
	if err != nil || len(s.Unsatisfied) != 1 || !strings.HasSuffix(s.Unsatisfied[0].SchemaPointer, "/maximum") {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSamplesOfContradiction: a schema that no object satisfies has no samples, and the result says why.
func TestSamplesOfContradiction(t *testing.T) {
	testenv.SingleGoroutine(t)
	d := fixture.Thing(t, `{type: object, required: [a], properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: "self.a > 3"}, {rule: "self.a < 2"}]}`)
	s, err := suite.Generate(t.Context(), d, suite.GenerateOptions{Valid: 2, Invalid: 2})
	if err != nil || len(s.Valid)+len(s.Invalid) > 0 {
		// Objects without spec are valid: the rules are on spec.
		for _, x := range s.Valid {
			if strings.Contains(string(x.Object), "spec") {
				t.Errorf("%s", x.Object)
			}
		}
	}
	manifest := strings.Replace(string(d.Manifest()), `"openAPIV3Schema":{`, `"openAPIV3Schema":{"required":["spec"],`, 1)
	d, _, err = engine.Compile(t.Context(), engine.JSON([]byte(manifest)), engine.Options{})
	if err != nil || d == nil {
		t.Fatal(err)
	}
	s, err = suite.Generate(t.Context(), d, suite.GenerateOptions{Valid: 2, Invalid: 2})
	if err != nil || len(s.Valid)+len(s.Invalid) > 0 || len(s.Unsatisfied) != 1 || s.Unsatisfied[0].Rule == nil ||
		s.Closest == nil {
		t.Errorf("%+v, %v", s, err)
	}
	for _, o := range []suite.GenerateOptions{{Valid: -1}, {Invalid: -1}, {Tries: -1}, {Time: -1}} {
		if _, err := suite.Generate(t.Context(), d, o); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
			t.Error(fmt.Sprint(o), err)
		}
	}
	if _, err := suite.Generate(t.Context(), d, suite.GenerateOptions{Version: "v9"}); engine.ReasonOf(err) != engine.ReasonVersionNotFound {
		t.Error(err)
	}
}

// TestSamplesStop: at the end of the time, Samples returns what it has, and a context that ends is an error.
func TestSamplesStop(t *testing.T) {
	const list = `{type: array, minItems: 1000, items: `
	d := fixture.Thing(t, `{type: object, required: [l], properties: {l: `+list+list+`{type: integer}}}}}`)
	s, err := suite.Generate(t.Context(), d, suite.GenerateOptions{Valid: 3, Invalid: 3, Time: 1})
	if err != nil || !s.Stopped || len(s.Valid)+len(s.Invalid) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := suite.Generate(ended, d, suite.GenerateOptions{Valid: 3, Time: 1}); engine.ReasonOf(err) != engine.ReasonItemDeadline {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := suite.Generate(t.Context(), d, suite.GenerateOptions{Time: -1}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
}
