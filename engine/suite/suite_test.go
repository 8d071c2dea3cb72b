package suite

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

const crd = `apiVersion: apiextensions.k8s.io/v1
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
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.height}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, maximum: 10}
              colour: {type: string, enum: [Red, Blue], default: Red}
              tags: {type: array, items: {type: string}}
          status: {type: object, properties: {height: {type: integer}}}
`

// results runs the tests of a suite with the CRD.
func results(t *testing.T, text string) (all []*Result) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(file, []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	suites, others, err := Read("s.yaml", []byte(text))
	if err != nil || len(suites) != 1 || others != 0 {
		t.Fatal(err, len(suites), others)
	}
	open := func(ctx context.Context, files []CRDs) (Evaluator, error) {
		definitions, err := Compile(ctx, files, engine.Options{})
		return NewEvaluator(definitions...), err
	}
	if err := suites[0].Run(t.Context(), open, []string{file}, func(r *Result) { all = append(all, r) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestExpectations has tests that pass, and the failures of tests that do not.
func TestExpectations(t *testing.T) {
	for _, tc := range []struct{ test, failures string }{
		{`object: {spec: {size: 1}}`, ""},
		{`object: {}`, ""},
		{`object: {spec: {size: 11}}`, "8: allowed / rejected"},
		{`{object: {}, expect: rejected}`, "8: rejected / allowed"},
		{`{object: {}, error: x}`, `8: rejected with an error that contains "x" / allowed`},
		{`{object: {spec: {size: 11}}, expect: rejected}`, ""},
		{`{object: {spec: {size: 11}}, error: less than or equal}`, ""},
		{`{object: {spec: {size: 11}}, error: more than}`, `an error that contains "more than" / Kite.example.com "test" is invalid`},
		{`{object: {spec: {size: 11}}, causes: [spec.size]}`, ""},
		{`{object: {spec: {size: 11}}, causes: [{field: spec.size, type: FieldValueInvalid, matches: "equal to \\d+$"}]}`, ""},
		{`{object: {spec: {size: 11}}, causes: [{field: spec.size, type: FieldValueRequired}]}`,
			"a cause at spec.size of type FieldValueRequired / no such cause; other causes: spec.size (FieldValueInvalid)|no other cause / spec.size: Invalid value: 11"},
		{`{object: {spec: {size: 11}}, causes: [{matches: "equal to 1$"}]}`, "a cause with a message that matches|no other cause"},
		{`{object: {spec: {size: 11, colour: Green}}, causes: [spec.size]}`, "no other cause / spec.colour: Unsupported value"},
		{`{object: {spec: {size: 11, colour: Green}}, causes: [spec.size], moreCauses: true}`, ""},
		{`{object: {spec: {size: 11, colour: Green}}, causes: [{message: value}, spec.size]}`, ""},
		{`{object: {spec: {size: 11, colour: Green}}, causes: [{message: value}, spec.colour]}`, ""},
		{`{object: {spec: {size: 11}}, causes: [spec.size, spec.size]}`, "a cause at spec.size / no such cause"},
		{`{object: {spec: {weight: 1}}, causes: [spec.weight]}`, "a cause at spec.weight / no causes, but the error"},
		{`{object: {}, result: {spec: {colour: Red}}}`, "spec / no"},
		{`{object: {spec: {}}, result: {spec: {colour: Red}}}`, ""},
		{`{object: {spec: {}}, result: {spec: {colour: Blue}}}`, `spec.colour: "Blue" / "Red"`},
		{`{object: {spec: {}}, result: {spec: {size: null}}}`, ""},
		{`{object: {spec: {size: 1}}, result: {spec: {size: null}}}`, "spec.size: no value / 1"},
		{`{object: {spec: {size: 1}}, result: {metadata: {name: test}}}`, ""},
		{`{object: {spec: {tags: [a, b]}}, result: {spec: {tags: [a]}}}`, `spec.tags: ["a"] / ["a","b"]`},
		{`{object: {spec: {tags: [a, b]}}, result: {spec: {tags: [a, c]}}}`, `spec.tags[1]: "c" / "b"`},
		{`{object: {spec: {}}, wholeResult: {apiVersion: example.com/v1, kind: Kite, spec: {colour: Red}}}`, ""},
		{`{object: {spec: {size: 2}}, wholeResult: {apiVersion: example.com/v1, kind: Kite, spec: {colour: Red}}}`,
			"spec.size: no such field / 2"},
		{`{object: {}, warnings: [x]}`, `a warning that contains "x" / no such warning`},
		{`{object: {spec: {weight: 1}}, fieldValidation: warn, warnings: [spec.weight]}`, ""},
		{`{object: {spec: {weight: 1, height: 1}}, fieldValidation: warn, warnings: [unknown field, spec.weight]}`, ""},
		{`{object: {spec: {weight: 1, height: 1}}, fieldValidation: warn, warnings: [unknown field, spec.height]}`, ""},
		{`{object: {spec: {weight: 1}}, fieldValidation: warn, warnings: []}`, "no other warning / unknown field"},
		{`{object: {spec: {weight: 1}}, fieldValidation: ignore, warnings: []}`, ""},
		{`{object: {spec: {weight: 1}}, error: unknown field}`, ""},
		{`{old: {spec: {size: 11}}, invalidOld: true, object: {spec: {size: 11}}}`, ""},
		{`{old: {spec: {size: 11}}, invalidOld: true, object: {spec: {size: 12}}, causes: [spec.size]}`, ""},
		{`{old: {spec: {size: 11}}, object: {spec: {size: 11}}}`, "a valid old object / an invalid one"},
		{`{old: {spec: {weight: 1}}, object: {spec: {}}}`, "a valid old object / an invalid one"},
		{`{old: {status: {height: x}}, object: {spec: {}}}`, "a valid old object / an invalid one"},
		{`{old: {spec: {size: 1}}, invalidOld: true, object: {spec: {}}}`, "an invalid old object / a valid one"},
		{`{old: {spec: {}}, patch: [{op: remove, path: /spec/size}], expect: rejected, warnings: []}`, ""},
		{`{object: {spec: {}}, causes: []}`, "rejected / allowed"},
		{`{object: {spec: {weight: 1}}, causes: []}`, ""},
		{`{object: {spec: {size: 11, colour: Green}}, causes: [spec.size], moreCauses: true}`, ""},
		{`{object: {spec: {size: 11}}, causes: [spec.weight], moreCauses: true}`,
			"a cause at spec.weight / no such cause; other causes: spec.size (FieldValueInvalid)"},
		{`{old: {spec: {size: 1}}, object: {spec: {replicas: 3}}, subresource: scale, result: {spec: {replicas: 3}}}`, ""},
		{`{object: {spec: {replicas: 3}}, subresource: scale, result: {spec: {replicas: 3}}}`, ""},
		{`{object: {metadata: {name: other}, spec: {replicas: 3}}, subresource: scale}`, "allowed / rejected"},
		{`{old: {spec: {size: 1}}, patch: {spec: {size: 12}}, causes: [spec.size]}`, ""},
		{`{old: {spec: {size: 1}}, patch: [{op: remove, path: /spec/size}], result: {spec: {size: null}}}`, ""},
		{`{old: {spec: {size: 1}}, object: {status: {height: 2}}, subresource: status, result: {spec: {size: 1}, status: {height: 2}}}`, ""},
		{`{patch: {spec: {size: 4}}, result: {spec: {size: 4}}}`, ""},
	} {
		if !strings.HasPrefix(tc.test, "{") {
			tc.test = "{" + tc.test + "}"
		}
		r := results(t, "# A comment.\n---\nbase:\n  apiVersion: example.com/v1\n  kind: Kite\n\ntests:\n- {name: a, "+tc.test[1:])[0]
		var got []string
		for _, f := range r.Failures {
			got = append(got, strings.ReplaceAll(r.position(f.Line), "s.yaml:", "")+f.Expected+" / "+f.Got)
		}
		want := strings.FieldsFunc(tc.failures, func(c rune) bool { return c == '|' })
		matches := len(want) == len(got) && r.Passed == (len(want) == 0) && r.Error == ""
		for i := range want {
			matches = matches && strings.Contains(got[i], want[i])
		}
		if tc.test == `{object: {}, result: {spec: {colour: Red}}}` { // no spec, so no default in it
			matches = len(got) == 1 && strings.Contains(got[0], `spec: {"colour":"Red"} / no value`)
		}
		if !matches {
			t.Errorf("%s\ngot  %q %s\nwant %q", tc.test, got, r.Error, want)
		}
	}
}

// TestPositions checks the lines of failures and violations.
func TestPositions(t *testing.T) {
	for _, of := range []struct {
		text       string
		failure    int
		violations []int
	}{
		{"tests:\n- name: a\n  object:\n    apiVersion: example.com/v1\n    kind: Kite\n    spec:\n      colour: Green\n      size: 11\n", 2, []int{7, 8}},
		{"base: {apiVersion: example.com/v1, kind: Kite}\ntests:\n- name: a\n  old: {}\n  patch:\n    spec:\n      size: 11\n", 3, []int{7}},
		{"base:\n  apiVersion: example.com/v1\n  kind: Kite\n  spec:\n    size: 11\ntests:\n- name: a\n  object:\n    spec:\n      colour: Green\n",
			7, []int{5, 10}},
		{"base: {apiVersion: example.com/v1, kind: Kite}\ntests:\n- name: a\n  invalidOld: false\n  old:\n    spec:\n      size: 11\n", 6, []int{7}},
		{"base: {apiVersion: example.com/v1, kind: Kite}\ntests:\n- name: a\n  object: {spec: {}}\n  result:\n    spec:\n      colour: B\n", 7, nil},
	} {
		r := results(t, of.text)[0]
		var lines []int
		for _, v := range r.Violations {
			lines = append(lines, v.Line)
		}
		slices.Sort(lines)
		if len(r.Failures) != 1 || r.Failures[0].Line != of.failure || !slices.Equal(lines, of.violations) {
			t.Errorf("%s: %+v %v", of.text, r.Failures, lines)
		}
	}
}

// TestNotes: a patch that cannot be applied gives the reason, which is no warning of the server.
func TestNotes(t *testing.T) {
	r := results(t, "base: {apiVersion: example.com/v1, kind: Kite}\n"+
		"tests: [{name: a, old: {}, patch: [{op: remove, path: /spec}], warnings: [x]}]")[0]
	if r.Passed || len(r.Failures) != 1 || !strings.Contains(r.Text(),
		"note: the patch was not applied: operation 0 (remove /spec)") {
		t.Error(r.Text())
	}
}

// TestInvalidTests: a test with an error does not drop the others of its suite.
func TestInvalidTests(t *testing.T) {
	suites, _, err := Read("s.yaml",
		[]byte("tests:\n- {name: a, objct: {}}\n- {name: b, object: {}}\n- {name: b, object: {}}\n- object: {}\n"))
	if len(suites) != 1 || len(suites[0].Tests) != 1 || suites[0].Tests[0].Line != 3 {
		t.Errorf("%+v", suites)
	}
	for _, text := range []string{"s.yaml:2: unknown field objct", "s.yaml:4: duplicate name",
		"s.yaml:5: the test has no name"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: no %q", err, text)
		}
	}
	if suites, _, err = Read("s.yaml", []byte("crdz: x\ntests:\n- {name: b, object: {}}\n")); len(suites) != 0 ||
		err == nil {
		t.Error(suites, err)
	}
}

func TestSelect(t *testing.T) {
	suites, _, err := Read("s.yaml", []byte("tests: [{name: one, object: {}}, {name: two, object: {}}]"))
	if err != nil {
		t.Fatal(err)
	}
	if suites[0].Select(regexp.MustCompile("^t")); len(suites[0].Tests) != 1 || suites[0].Tests[0].Name != "two" {
		t.Error(suites[0].Tests)
	}
}

// TestSyntax: errors have the lines of the file.
func TestSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"tests: []\n---\n- a\n- {b: 1\n":          "s.yaml:4: did not find expected ',' or '}'",
		"tests: []\n---\n{a: 1}\n{b: 1}\n":        "s.yaml:4: the document ends before this line: --- begins another one",
		"# c\n---\ntests: []\nname: a\nname: b\n": `s.yaml:5: key "name" already set in map`,
		"tests: &a\n- *a\n":                       "s.yaml: yaml: anchor 'a' value contains itself",
	} {
		if _, _, err := Read("s.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNoSuite: a text that cannot have a suite is not parsed, unlike by CheckSyntax.
func TestNoSuite(t *testing.T) {
	text := []byte("a: &b\n- *b\n")
	if suites, others, err := Read("s.yaml", text); len(suites) > 0 || others != 1 || err != nil {
		t.Error(suites, others, err)
	}
	if err := CheckSyntax("s.yaml", text); err == nil || !strings.Contains(err.Error(), "contains itself") {
		t.Error(err)
	}
}

// TestOlderErrors compares expected errors with messages of Kubernetes 1.37.
func TestOlderErrors(t *testing.T) {
	for _, tc := range []struct {
		expected, message string
		older             bool
	}{
		{`spec.a: Invalid value: "object": no b`, `K.g "n" is invalid: spec.a: Invalid value: no b`, true},
		{`spec.a: Invalid value: "string": no b`, `K.g "n" is invalid: spec.a: Invalid value: "x: \"y": no b`, true},
		{`spec.a: Invalid value: "integer": no b`, `K.g "n" is invalid: spec.a: Invalid value: 5: no b`, true},
		{`<nil>: Invalid value: "null"`, `[a, <nil>: Invalid value: null: some]`, true},
		{`spec.a: Invalid value: "": no b`, `spec.a: Invalid value: "0": no b`, true},
		{`a[1]: Duplicate value: map[string]interface {}{"k":"x", "l":"y"}`, `a[1]: Duplicate value: {"k":"x","l":"y"}`, true},
		{`spec.a: Invalid value: "object": no b`, `spec.a: Invalid value: no c`, false},
		{`spec.a: Invalid value: "object": no b`, `spec.b: Invalid value: no b`, false},
		{`spec.a: Invalid value: "object": no b`, `spec.a: Invalid value: c: no b`, false},
		{`spec.a: Invalid value: "object": no b`, `spec.a: Required value: no b`, false},
		{`spec.a: Invalid value: 5: no b`, `spec.a: Invalid value: 6: no b`, false},
	} {
		e := &expectation{errorText: tc.expected, older: olderError(tc.expected)}
		if got := e.isOlder(tc.message); got != tc.older {
			t.Errorf("%s: %s: %v", tc.expected, tc.message, got)
		}
	}
}

func TestEqualScalars(t *testing.T) {
	for _, tc := range []struct {
		a, b  string
		equal bool
	}{
		{"1", "1", true}, {"1", "1.0", true}, {"9007199254740993", "9007199254740992", false}, {"1e2", "100", true},
		{"1", `"1"`, false}, {"null", "0", false}, {"true", "true", true}, {`"a"`, `"b"`, false}, {"1e999999999", "1", false},
		{"1", "[1]", false}, {`"a"`, "{}", false},
	} {
		if got := equalScalars(decoded([]byte(tc.a)), decoded([]byte(tc.b))); got != tc.equal {
			t.Errorf("%s, %s: %v", tc.a, tc.b, got)
		}
	}
}
