package suite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

// project writes a project with variants of the CRD, and returns the name of its suite. Values replace parts of the CRD.
func project(t *testing.T, gates string, variants map[string]string) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, annotations := range variants {
		write("a/"+generatedCRDs+"/"+name+".yaml", strings.Replace(crd, "metadata: {name: kites.example.com}",
			"metadata: {name: kites.example.com, annotations: {"+annotations+"}}", 1))
	}
	if gates != "" {
		write("payload-manifests/featuregates/f.yaml", gates)
	}
	return filepath.Join(root, "a", "tests", "kites.example.com", "s.yaml")
}

// runOpenShift runs the tests of a suite and returns the results and the error of the suite.
func runOpenShift(t *testing.T, file, text string) (all []*Result, err error) {
	t.Helper()
	suites, _, err := Read(file, []byte("apiVersion: apiextensions.k8s.io/v1\ncrdName: kites.example.com\n"+text))
	if err != nil || len(suites) != 1 {
		t.Fatal(err, len(suites))
	}
	open := func(ctx context.Context, files []CRDs) (Evaluator, error) {
		definitions, err := Compile(ctx, files, engine.Options{})
		return NewEvaluator(definitions...), err
	}
	err = suites[0].Run(t.Context(), open, nil, func(r *Result) { all = append(all, r) })
	return all, err
}

// TestOpenShiftExpectations has tests that pass, and parts of the failures of tests that do not.
func TestOpenShiftExpectations(t *testing.T) {
	file := project(t, "", map[string]string{"crd": ""})
	object := func(rest string) string { return `"{apiVersion: example.com/v1, kind: Kite, ` + rest + `}"` }
	const patches = "initialCRDPatches: [{op: remove, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum}]"
	for _, tc := range []struct{ kind, test, failure string }{
		{"onCreate", "initial: " + object("spec: {size: 1}"), ""},
		{"onCreate", "initial: " + object("spec: {weight: 1}"), ""},
		{"onCreate", "initial: " + object("spec: {size: 11}"), "allowed / rejected"},
		{"onCreate", "initial: " + object("spec: {size: 11}") + ", expectedError: less than", ""},
		{"onCreate", "initial: " + object("spec: {size: 11}") + ", expectedError: more than", `"more than" / Kite.example.com "test-1"`},
		{"onCreate", "initial: " + object("spec: {size: 1}") + ", expectedError: less than", "/ allowed"},
		{"onCreate", "initial: " + object("spec: {}") + ", expected: " + object("spec: {colour: Red}"), ""},
		{"onCreate", "initial: " + object("spec: {size: 1}") + ", expected: " + object("spec: {colour: Red}"), "spec.size: no such field / 1"},
		{"onCreate", "initial: " + object("spec: {}") + ", expected: " + object("spec: {colour: Blue}"), `spec.colour: "Blue" / "Red"`},
		{"onUpdate", "initial: " + object("spec: {size: 11}") + ", updated: " + object("spec: {}"), "the creation of the initial object is allowed"},
		{"onUpdate", "initial: " + object("status: {height: a}") + ", updated: " + object("spec: {}"), "the update of the initial status is allowed"},
		{"onUpdate", "initial: " + object("spec: {}") + ", updated: " + object("spec: {size: 11}"), "allowed / rejected"},
		{"onUpdate", "initial: " + object("spec: {}") + ", updated: " + object("spec: {size: 11}") + ", expectedError: less than", ""},
		{"onUpdate", "initial: " + object("spec: {}") + ", updated: " + object("spec: {}") + ", expectedError: less than", "/ allowed"},
		{"onUpdate", "initial: " + object("spec: {}") + ", updated: " + object("status: {height: 1}") +
			", expected: " + object("status: {height: 1}"), ""},
		{"onUpdate", "initial: " + object("status: {height: 2}") + ", updated: " + object("spec: {}") +
			", expected: " + object("status: {height: 2}"), ""},
		{"onUpdate", "initial: " + object("spec: {}") + ", updated: " + object("status: {height: 1}") +
			", expected: " + object("status: {height: 2}"), "status.height: 2 / 1"},
		{"onUpdate", "initial: " + object("spec: {}") + ", updated: " + object("status: {height: a}") + ", expectedStatusError: integer", ""},
		{"onUpdate", "initial: " + object("spec: {}") + ", updated: " + object("status: {height: 1}") + ", expectedStatusError: x", "/ allowed"},
		{"onUpdate", "initial: " + object("spec: {}") + ", updated: " + object("spec: {size: 11}, status: {height: a}") +
			", expectedStatusError: integer", "the update is allowed / rejected"},
		{"onUpdate", patches + ", initial: " + object("spec: {size: 11}") + ", updated: " + object("spec: {size: 11}"), ""},
		{"onUpdate", patches + ", initial: " + object("spec: {size: 11}") + ", updated: " + object("spec: {size: 12}"), "allowed / rejected"},
	} {
		results, err := runOpenShift(t, file, "tests: {"+tc.kind+": [{name: a, "+tc.test+"}]}")
		if err != nil || len(results) != 1 || results[0].Error != "" {
			t.Errorf("%s: %v %+v", tc.test, err, results)
			continue
		}
		var got string
		for _, f := range results[0].Failures {
			got += f.Expected + " / " + f.Got
		}
		if (tc.failure == "") != results[0].Passed || !strings.Contains(got, tc.failure) || (tc.failure == "") != (got == "") {
			t.Errorf("%s %s\ngot  %s\nwant %s", tc.kind, tc.test, got, tc.failure)
		}
	}
	results, err := runOpenShift(t, file, "tests: {onUpdate: [{name: a, initialCRDPatches: [{op: remove, path: /nope}], initial: "+
		object("spec: {}")+", updated: "+object("spec: {}")+"}]}")
	if err != nil || !strings.Contains(results[0].Error, "initialCRDPatches: ") {
		t.Error(err, results[0])
	}
}

// TestVariants checks with which variants of a CRD a suite runs.
func TestVariants(t *testing.T) {
	const profile, set = `include.release.openshift.io/p: "true"`, "release.openshift.io/feature-set: "
	const version = `release.openshift.io/major-version: "4,5"`
	const gates = `metadata: {annotations: {include.release.openshift.io/p: "false-except", ` + version + `}}
status: {featureGates: [{enabled: [{name: Colours}], disabled: [{name: Tails}]}]}
`
	all := map[string]string{"custom": profile + ", " + set + "CustomNoUpgrade", "default": profile + ", " + set + "Default",
		"other": set + "Other", "ungated": profile + ", " + version}
	for _, tc := range []struct{ suite, gates, want string }{
		{"", "", "custom default other ungated"},
		{"featureGates: [Colours]", gates, "custom default other ungated"},
		{"featureGates: [-Colours]", gates, "other"},
		{"featureGates: [Tails]", gates, "custom other"},
		{"featureGates: [-Tails, Colours]", gates, "default other ungated"},
		{"featureGates: [Nope]", gates, "the feature gate Nope is unknown"},
		{"featureGates: [Colours]", "", "no parent of"},
		{"featureGates: [Colours]", strings.Replace(gates, "/p:", "/q:", 1), "has no file for include.release.openshift.io/p and the feature sets Default"},
		{"featureGates: [Colours]", strings.Replace(gates, `"4,5"`, `"6"`, 1), "has no file for"},
		{"version: v1", "", "custom default other ungated"},
	} {
		results, err := runOpenShift(t, project(t, tc.gates, all), tc.suite+
			"\ntests: {onCreate: [{name: a, initial: '{apiVersion: example.com/v1, kind: Kite}'}]}\n")
		var names []string
		for _, r := range results {
			names = append(names, strings.TrimSuffix(filepath.Base(r.CRD), ".yaml"))
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tc.want || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s, not %s", tc.suite, got, tc.want)
		}
	}
}

// TestMissingObjects checks the errors of tests without an object.
func TestMissingObjects(t *testing.T) {
	_, _, err := Read("s.yaml", []byte("crdName: a.b\ntests:\n  onCreate:\n  - name: a\n  - name: b\n    initial:\n  onUpdate:\n"+
		"  - name: c\n    initial: '{}'\n"))
	for _, want := range []string{"s.yaml:4: the test has no initial", "s.yaml:5: the test has no initial", "s.yaml:8: the test has no updated"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
