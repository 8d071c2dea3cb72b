package crdevaltest_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/crdevaltest"
	"github.com/crdeval/crdeval/engine/suite/mutation"
)

// Case is a case of the table of failing tests.
type Case = crdevaltest.Case

const (
	crds    = "testdata/crontabs.yaml"
	cronTab = "{apiVersion: stable.example.com/v1, kind: CronTab, spec: {image: a, replicas: 11}}"
)

// failing are tests that fail, with a part of their output.
var failing = map[string]struct {
	run    func(*testing.T)
	output string
}{
	"suite": {func(t *testing.T) { crdevaltest.Run(t, "testdata/failing.yaml") },
		"testdata/failing.yaml:3: expected allowed\n" +
			"got rejected: CronTab.stable.example.com \"test\" is invalid: spec.image: Required value\n" +
			"violation: testdata/failing.yaml:7: spec.image: Required value"},
	"score": {func(t *testing.T) { crdevaltest.Mutate(t, "testdata/suite.yaml", 100, mutation.Options{}) },
		"less than 100%"},
	"no suite":  {func(t *testing.T) { crdevaltest.Run(t, crds) }, "has no suite"},
	"no file":   {func(t *testing.T) { crdevaltest.Run(t, "testdata/missing.yaml") }, "no such file"},
	"no CRD":    {func(t *testing.T) { crdevaltest.Load(t, "testdata/missing.yaml") }, "no such file"},
	"not a CRD": {func(t *testing.T) { crdevaltest.Load(t, "testdata/suite.yaml") }, "has no CustomResourceDefinition"},
	"allowed":   {cases(Case{Name: "a", Object: cronTab}), "expected allowed"},
	"error":     {cases(Case{Name: "a", Object: cronTab, Error: "more than"}), `an error that contains "more than"`},
	"rejected":  {cases(Case{Name: "a", Object: map[string]any{}, Rejected: true}), "needs apiVersion and kind"},
	"result": {cases(Case{Name: "a", Old: cronTab, InvalidOld: true, Patch: "{}", WholeResult: []byte("{}")}),
		"no such field"},
	"warnings": {cases(Case{Name: "a", Old: cronTab, InvalidOld: true, Patch: "{}", Warnings: []string{"w"}}),
		"a warning that contains"},
	"validation": {cases(Case{Name: "a", Object: cronTab, FieldValidation: "none"}),
		"cases[0] \"a\": fieldValidation must be strict or warn or ignore"},
	"duplicates": {cases(Case{Name: "a", Object: cronTab}, Case{Name: "a", Object: cronTab}), `cases[1] "a": cases[0] has the same name`},
	"invalid cases": {cases(Case{Name: "a", Object: cronTab}, Case{Name: "b"}, Case{Object: cronTab}, Case{Name: "c", Object: 1}),
		"cases[1] \"b\": the test has no object and no patch\n" +
			"cases[2] \"\": the test has no name\n" +
			"cases[3] \"c\": object must be a mapping"},
	"empty CRDs": {func(t *testing.T) { new(crdevaltest.CRDs).Run(t, []Case{{Name: "a", Object: cronTab}}) },
		"there are no CRDs: Load reads them"},
	"cause": {cases(Case{Name: "a", Object: cronTab, MoreCauses: true,
		Causes: []crdevaltest.Cause{{Type: "FieldValueRequired", Matches: regexp.MustCompile("x")}}}), "that matches x"},
	"subresource": {cases(Case{Name: "a", Object: cronTab, Subresource: "status"}), "is an update"},
	"text":        {cases(Case{Name: "a", Object: "{"}), `cases[0] "a": object: `},
}

func cases(list ...Case) func(*testing.T) {
	return func(t *testing.T) { crdevaltest.Load(t, crds).Run(t, list) }
}

var indent = regexp.MustCompile(`\n +`)

// TestFailing runs each failing test in a process of its own, and checks its output.
func TestFailing(t *testing.T) {
	if of, ok := failing[os.Getenv("CRDEVALTEST_FAILING")]; ok {
		of.run(t)
		return
	}
	for name, of := range failing {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailing$")
			cmd.Env = append(os.Environ(), "CRDEVALTEST_FAILING="+name)
			out, err := cmd.CombinedOutput()
			plain := indent.ReplaceAllString(string(out), "\n")
			if err == nil || !strings.Contains(plain, of.output) {
				t.Errorf("%v\n%s\nwant %s", err, plain, of.output)
			}
		})
	}
}
