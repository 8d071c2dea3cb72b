package mutation

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/suite"
)

const crdText = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: kites, singular: kite, kind: Kite}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            x-kubernetes-validations:
            - rule: self.size <= self.limit
            - rule: self.colour == oldSelf.colour
            properties:
              size:
                type: integer
                maximum: 10
              limit: {type: integer, default: 5}
              colour:
                type: string
                default: Red
                enum: [Red, Blue]
              nested:
                type: object
                properties:
                  deep: {type: string, minLength: 2}
`

const suiteText = `base: {apiVersion: example.com/v1, kind: Kite, spec: {size: 1}}
tests:
- name: minimal
  object: {}
  result: {spec: {limit: 5}}
- name: size
  object: {spec: {size: 11, limit: 20}}
  causes: [{field: spec.size, message: less than or equal to 10}]
- name: above the limit
  object: {spec: {size: 6}}
  error: failed rule
- name: at the limit
  object: {spec: {size: 5, colour: Blue}}
- name: colour
  old: {spec: {colour: Blue}}
  patch: {spec: {colour: Red}}
  error: failed rule
- name: fails
  object: {spec: {size: 1}}
  expect: rejected
`

func mutate(t *testing.T, o Options) *Report {
	t.Helper()
	suites, _, err := suite.Read("s.yaml", []byte(suiteText))
	if err != nil {
		t.Fatal(err)
	}
	suites[0].Given = []suite.CRDs{{File: "crd.yaml", Text: []byte(crdText)}}
	r, err := Run(t.Context(), suites, nil, o)
	if err != nil || len(r.Errors) > 0 {
		t.Fatal(err, r.Errors)
	}
	return r
}

// TestRun checks the result of each mutant of a CRD.
func TestRun(t *testing.T) {
	want := strings.Split(strings.TrimSpace(`
18 spec.size required removed: required: "size": possibly equivalent
20 spec rule removed: self.size <= self.limit: killed
20 spec operator: self.size <= self.limit -> self.size < self.limit: killed
20 spec operator: self.size <= self.limit -> self.size > self.limit: killed
21 spec rule removed: self.colour == oldSelf.colour: killed
21 spec oldSelf to self: self.colour == oldSelf.colour -> self.colour == self.colour: killed
21 spec operator: self.colour == oldSelf.colour -> self.colour != oldSelf.colour: killed
30 spec.colour enum value removed: "Red": invalid
30 spec.colour enum value removed: "Blue": killed
30 spec.colour enum value added: "Redx": survived
29 spec.colour default removed: default: "Red": survived
29 spec.colour default changed: default: "Red" -> default: "Blue": survived
26 spec.limit default removed: default: 5: killed
26 spec.limit default changed: default: 5 -> default: 6: killed
34 spec.nested.deep minLength moved by -1: minLength: 2 -> minLength: 1: survived, in no test
34 spec.nested.deep minLength moved by +1: minLength: 2 -> minLength: 3: survived, in no test
34 spec.nested.deep minLength removed: minLength: 2: survived, in no test
25 spec.size maximum moved by -1: maximum: 10 -> maximum: 9: killed
25 spec.size maximum moved by +1: maximum: 10 -> maximum: 11: killed
25 spec.size maximum removed: maximum: 10: killed`), "\n")
	r := mutate(t, Options{Tries: 500})
	var got []string
	for _, m := range r.Mutants {
		status := string(m.Status)
		if m.Status == Survived && m.Tests == 0 {
			status += ", in no test"
		}
		got = append(got, strings.TrimPrefix(m.position(), "crd.yaml:")+" "+m.Field+" "+m.Change()+": "+status)
		if e := m.Example; (m.Status == Survived) != (e != nil) || e != nil && e.Original == e.Mutant {
			t.Errorf("%s: %+v", m.Change(), e)
		}
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	if r.Tests != 6 || r.Unused != 1 {
		t.Error(r.Tests, r.Unused)
	}
}

// TestNegativeOptions: a negative number is an error before anything runs.
func TestNegativeOptions(t *testing.T) {
	for _, o := range []Options{{Limit: -2}, {Time: -1}, {Tries: -1}, {Parallel: -3}} {
		r, err := Run(t.Context(), nil, nil, o)
		if r != nil || engine.ReasonOf(err) != engine.ReasonInvalidArgument || !strings.Contains(err.Error(), "negative") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestDeterminism: equal seeds give equal reports, whatever runs in parallel, and a limit keeps the order.
func TestDeterminism(t *testing.T) {
	var texts []string
	for _, parallel := range []int{1, 4} {
		r := mutate(t, Options{Seed: 7, Limit: 8, Parallel: parallel, Tries: 200})
		if r.Score.NotRun != r.Score.Mutants-8 {
			t.Error(r.Score)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text)+r.Text(true)+r.Markdown())
	}
	if texts[0] != texts[1] {
		t.Errorf("%s\n%s", texts[0], texts[1])
	}
}

func TestTime(t *testing.T) {
	if r := mutate(t, Options{Time: time.Nanosecond}); r.Score.NotRun != r.Score.Mutants || r.Score.Mutants == 0 {
		t.Error(r.Score)
	}
}
