package tests

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestSamplesUpstream checks with Kubernetes' code that generated valid samples and writes of their status are accepted,
// and that invalid ones are rejected because of the reported constraint only, with the reported violations.
func TestSamplesUpstream(t *testing.T) {
	count := 0
	for name, manifests := range sampledCRDs(t) {
		d, upstream := bothDefinitions(t, manifests[0])
		if d == nil {
			continue
		}
		for _, version := range upstream.Versions() {
			for seed := range uint64(min(2, testenv.Volume(1))) {
				s, err := suite.Generate(t.Context(), d, suite.GenerateOptions{Version: version, Valid: 4, Invalid: 60, Seed: seed})
				if engine.ReasonOf(err) == engine.ReasonVersionNotFound {
					break // the version is not served
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if len(s.Valid) == 0 {
					t.Errorf("%s %s: no valid object: %v", name, version, s.Unsatisfied)
				}
				for _, x := range slices.Concat(s.Valid, s.Invalid) {
					count++
					if problem := wrongSample(upstream, version, &x); problem != "" {
						t.Errorf("%s %s, seed %d: %v: %s, old %s: %s", name, version, seed, x.Constraint, x.Object,
							x.OldObject, problem)
					}
					if c := upstream.CRD.Spec.Conversion; x.Constraint != nil || !hasStatus(d, version) ||
						c != nil && c.Strategy == "Webhook" {
						continue // the oracle does not read stored objects of a CRD with a webhook
					}
					if a := strictAnswer(upstream, upstream, version, "status", x.Object, x.Object, false); !a.Accepted() {
						t.Errorf("%s %s, seed %d: a write of the status of %s: %+v", name, version, seed, x.Object, a)
					}
				}
				for _, c := range s.Unbroken {
					t.Logf("%s %s, seed %d: not violated: %s", name, version, seed, c)
				}
			}
		}
	}
	if t.Logf("%d samples", count); count < 100 {
		t.Error("too few samples")
	}
}

// TestCounterexamplesUpstream checks with Kubernetes' code that each counterexample is accepted by the old CRD, and
// rejected by the new one, with the reported violations.
func TestCounterexamplesUpstream(t *testing.T) {
	found, none := 0, 0
	shown := map[string]int{}
	for name, manifests := range sampledCRDs(t) {
		for _, changed := range manifests[1:] {
			a, oldUpstream := bothDefinitions(t, manifests[0])
			b, newUpstream := bothDefinitions(t, changed)
			if a == nil || b == nil {
				t.Fatalf("%s: a CRD is rejected", name)
			}
			result, err := diff.Compare(t.Context(), engine.JSON(manifests[0]), engine.JSON(changed), engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			list, err := diff.Counterexamples(t.Context(), a, b, result, diff.SearchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range list {
				change := result.Changes[x.Change]
				f := x.Found
				if f == nil {
					none++
					t.Logf("%s: %s %s: none in %d tries %s", name, change.Kind, change.SchemaPointer, x.Tries, x.NoObject)
					continue
				}
				found++
				shown[change.Kind+" "+f.Subresource]++
				whole := f.Subresource == "scale" || x.Ignored != nil
				before := strictAnswer(oldUpstream, oldUpstream, f.Version, f.Subresource, f.Object, f.OldObject, whole)
				after := strictAnswer(newUpstream, oldUpstream, f.Version, f.Subresource, f.Object, f.OldObject, whole)
				problem := ""
				if !whole { // the handlers return one error for all violations
					problem = differs(before, f.Old) + differs(after, f.New)
				}
				if x.Alone != nil {
					shown["alone"]++
					_, upstream := bothDefinitions(t, x.AloneManifest)
					problem += differs(strictAnswer(upstream, oldUpstream, f.Version, f.Subresource, f.Object, f.OldObject, false), x.Alone)
				}
				for _, field := range x.Ignored {
					if !hasField(before.Object, field) || hasField(after.Object, field) {
						problem += field + " is not ignored"
					}
				}
				if problem != "" || !before.Accepted() || after.Accepted() != (x.Ignored != nil) {
					t.Errorf("%s: %s %s: %s, old %s: %s\nbefore %+v\nafter %+v", name, change.Kind, change.SchemaPointer,
						f.Object, f.OldObject, problem, before.Errors, after.Errors)
				}
			}
		}
	}
	for _, kind := range []string{"StatusAdded ", "StatusRemoved status", "ScaleAdded ", "ScaleRemoved scale",
		"StorageLosesFields ", "VersionUnserved ", "alone", "BoundTightened status", "RuleAdded status"} {
		if shown[kind] == 0 {
			t.Errorf("no counterexample of %q: %v", kind, shown)
		}
	}
	if t.Logf("%d counterexamples, %d changes without", found, none); found < 20 {
		t.Error("too few counterexamples")
	}
}

// sampledCRDs returns CRDs of testdata/generated and testdata/counterexamples, each followed by its changes, and some of the corpus.
func sampledCRDs(t *testing.T) map[string][][]byte {
	var files []string
	for _, folder := range []string{"generated", "counterexamples"} {
		found, err := filepath.Glob("../testdata/" + folder + "/*.yaml")
		if err != nil || len(found) == 0 {
			t.Fatal(folder, err)
		}
		files = append(files, found...)
	}
	all := map[string][][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
			if doc, err = yaml.YAMLToJSON(doc); err != nil {
				t.Fatal(file, err)
			}
			all[filepath.Base(file)] = append(all[filepath.Base(file)], doc)
		}
	}
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, crd := range c.CRDs {
		if i%64 == 0 {
			all[fmt.Sprint(crd.Name, " ", i)] = [][]byte{crd.Doc}
		}
	}
	return all
}

// bothDefinitions compiles a CRD with the engine and with Kubernetes' code. It returns nil if it is rejected.
func bothDefinitions(t *testing.T, manifest []byte) (*engine.Definition, *oracle.Definition) {
	t.Helper()
	d, report, err := engine.Compile(t.Context(), engine.JSON(manifest), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	registered, answer := oracle.Register(manifest, false)
	if (d == nil) == answer.Accepted() {
		t.Fatalf("%+v, upstream %+v", report, answer)
	}
	if d == nil {
		t.Logf("rejected: %+v, %+v, %v", answer.Rejection, answer.Errors, report.Violations)
		return nil, nil
	}
	upstream, err := oracle.Compile(registered)
	if err != nil {
		t.Fatal(err)
	}
	return d, upstream
}

// hasField reports whether an object has a field such as status.count.
func hasField(object []byte, field string) bool {
	root, err := sample.Parse(object)
	for name := range strings.SplitSeq(field, ".") {
		if root = root.Get(name); err != nil || root == nil {
			return false
		}
	}
	return true
}

// strictAnswer returns upstream's answer to the creation of an object, or to the update of an old object or of its
// subresource, with strict field validation. Another definition stores the old object. If whole is true, the handlers of
// the API server answer.
func strictAnswer(
	d, creator *oracle.Definition, version, subresource string, object, old []byte, whole bool,
) oracle.Answer {
	request := oracle.Request{Version: version, Body: object, Handler: true, FieldValidation: oracle.Strict, Whole: whole}
	if whole {
		root, err := sample.Parse(object)
		if err != nil {
			return oracle.Answer{Rejection: &oracle.Rejection{Message: err.Error()}}
		}
		request.Namespace = strings.Trim(root.Get("metadata").Get("namespace").Text, `"`)
		if old != nil {
			request.Name = strings.Trim(root.Get("metadata").Get("name").Text, `"`)
		}
	}
	if old != nil {
		created := creator.Answer(oracle.Request{Version: version, Body: old, Handler: true, FieldValidation: oracle.Strict})
		request.Op = map[string]oracle.Op{"": oracle.Update, "status": oracle.Status, "scale": oracle.Scale}[subresource]
		if created.Accepted() && subresource == "status" {
			created = creator.Answer(oracle.Request{Op: oracle.Status, Version: version, Body: inStorage(old),
				Old: inStorage(created.Object), Handler: true})
		}
		if !created.Accepted() {
			created.Rejection = &oracle.Rejection{
				Message: fmt.Sprintf("the old object is rejected: %+v %+v", created.Rejection, created.Errors)}
			return created
		}
		request.Body, request.Old = inStorage(object), inStorage(created.Object)
	}
	return d.Answer(request)
}

// inStorage adds the metadata that an object has in storage.
func inStorage(object []byte) []byte {
	stored, err := jsonpatch.MergePatch(object, []byte(`{"metadata":{"resourceVersion":"1","uid":"u"}}`))
	if err != nil {
		return object
	}
	return stored
}

// differs describes the difference between upstream's answer and a verdict.
func differs(upstream oracle.Answer, v *engine.Verdict) string {
	if upstream.Accepted() != v.Allowed {
		return fmt.Sprintf("accepted by upstream: %v, want %v: %+v %+v", upstream.Accepted(), v.Allowed,
			upstream.Rejection, upstream.Errors)
	}
	var got, want []string
	for _, x := range v.Violations {
		if kubeserver.IsCause(x.Type) { // upstream's error for the others has no causes
			got = append(got, x.Error())
		}
	}
	for _, x := range upstream.Errors {
		want = append(want, x.Message)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("violations %q, upstream %q", got, want)
	}
	if r := upstream.Rejection; r != nil && r.Reason != oracle.Unworded && r.Message != v.Rejection.Message {
		return fmt.Sprintf("rejection %q, upstream %q", v.Rejection.Message, r.Message)
	}
	return ""
}

// wrongSample describes what is wrong with a sample.
func wrongSample(d *oracle.Definition, version string, x *suite.Sample) string {
	a := strictAnswer(d, d, version, x.Subresource, x.Object, x.OldObject, false)
	if problem := differs(a, x.Verdict); problem != "" || x.Constraint == nil {
		return problem
	}
	if x.Constraint.Kind == "unknown field" {
		if len(a.Errors) > 0 || strings.Count(a.Rejection.Message, "unknown field") != 1 {
			return fmt.Sprintf("upstream %+v, %+v", a.Rejection, a.Errors)
		}
		return ""
	}
	hits := 0
	var others []string
	for _, e := range a.Errors {
		switch field, keyword := fieldPattern(x.Constraint), keywordPatterns[x.Constraint.Kind]; {
		case strings.HasPrefix(e.Detail, "some validation rules were not checked"):
		case field.MatchString(e.Field) && regexp.MustCompile(keyword).MatchString(e.Type+" "+e.Detail):
			hits++
		case strings.Contains(e.Detail, "must validate"), operators[x.Constraint.Kind]: // goes with another violation
		default:
			others = append(others, e.Message)
		}
	}
	if hits == 0 || hits > 1 && !operators[x.Constraint.Kind] || len(others) > 0 {
		return fmt.Sprintf("%d violations of it, others %q (all %+v)", hits, others, a.Errors)
	}
	return ""
}

// operators are keywords whose violation implies others.
var operators = map[string]bool{"oneOf": true, "anyOf": true, "not": true, "x-kubernetes-int-or-string": true}

// keywordPatterns match type and detail of violations.
var keywordPatterns = map[string]string{
	"rule": "^FieldValue", "required": "^FieldValueRequired", "enum": "^FieldValueNotSupported",
	"minimum": "should be greater than", "maximum": "should be less than", "multipleOf": "multiple of|MultipleOf",
	"pattern": "should match", "minLength": "at least .* chars", "maxLength": "^FieldValueTooLong",
	"format": "must be of type|^FieldValueInvalid", "minItems": "at least .* items", "maxItems": "^FieldValueTooMany",
	"uniqueItems": "duplicates", "x-kubernetes-list-type": "^FieldValueDuplicate|^FieldValueRequired",
	"minProperties": "at least .* properties", "maxProperties": "^FieldValueTooMany|at most",
	"oneOf": "one and only one", "anyOf": "at least one schema", "not": "must not validate",
	"type": "^FieldValueTypeInvalid", "x-kubernetes-int-or-string": "^FieldValueTypeInvalid",
	"x-kubernetes-embedded-resource": "^FieldValue",
}

// fieldPattern returns a pattern of upstream's field for a constraint.
func fieldPattern(c *suite.Constraint) *regexp.Regexp {
	steps := strings.Split(c.SchemaPointer, "/")[1:]
	pattern := ""
	for i := 0; i < len(steps); i++ {
		switch steps[i] {
		case "properties":
			i++
			pattern += `\.` + regexp.QuoteMeta(strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i]))
		case "items":
			pattern += `\[\d+\]`
		case "additionalProperties":
			pattern += `(\.[^.]+|\[.+\])`
		default:
		}
	}
	pattern = strings.TrimPrefix(pattern, `\.`)
	switch c.Kind {
	case "required":
		pattern += `(\.|^)` + regexp.QuoteMeta(c.Name)
	case "x-kubernetes-list-type":
		pattern += `\[\d+\].*`
	case "rule", "x-kubernetes-embedded-resource":
		pattern = "(" + pattern + ".*|<nil>)"
	case "oneOf", "anyOf", "not":
		pattern = "<nil>|" + pattern
	}
	return regexp.MustCompile("^(" + pattern + ")$")
}
