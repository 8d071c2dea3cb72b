// Package crdevaltest tests CRDs under go test, without an API server:
//
//	func TestCronTabs(t *testing.T) {
//		crdevaltest.Run(t, "testdata/suite.yaml")
//		crdevaltest.Load(t, "testdata/crontabs.yaml").Run(t, []crdevaltest.Case{{
//			Name:   "at most 10 replicas",
//			Object: "{apiVersion: stable.example.com/v1, kind: CronTab, spec: {image: a, replicas: 11}}",
//			Causes: []crdevaltest.Cause{{Field: "spec.replicas", Message: "less than or equal to 10"}},
//		}})
//	}
//
// Run runs the tests of a suite file, which package suite reads. CRDs.Run runs a table of cases in Go. Mutate fails if
// changed rules and bounds of the CRD pass the suite, see package mutation. docs/testing.md describes all of them, and
// crontab_test.go in this package is a whole example.
package crdevaltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/suite"
)

// Run runs each test of the suites in a file as a subtest.
func Run(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	suites, _, err := suite.Read(file, text)
	if err != nil {
		t.Error(err)
	} else if len(suites) == 0 {
		t.Fatalf("%s has no suite: a suite has the field tests, and no kind", file)
	}
	for _, s := range suites {
		run(t, s, open, (*suite.Result).Text)
	}
}

func open(ctx context.Context, files []suite.CRDs) (suite.Evaluator, error) {
	definitions, err := suite.Compile(ctx, files, engine.Options{})
	return suite.NewEvaluator(definitions...), err
}

// run runs the tests of a suite as subtests.
func run(t *testing.T, s *suite.Suite, open suite.Open, describe func(*suite.Result) string) {
	t.Helper()
	err := s.Run(t.Context(), open, nil, func(r *suite.Result) {
		t.Helper()
		name := r.Name
		if r.CRD != "" {
			name += " " + r.CRD
		}
		t.Run(name, func(t *testing.T) {
			t.Helper()
			if !r.Passed {
				t.Error(describe(r))
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// CRDs are CRDs to test.
type CRDs struct{ files []suite.CRDs }

// Load reads the CRDs of files and directories. The test ends if one of them cannot be read or is rejected.
func Load(t testing.TB, paths ...string) *CRDs {
	t.Helper()
	files, err := suite.ReadCRDs(paths...)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no CustomResourceDefinition in %q", paths)
	}
	if err == nil {
		_, err = open(t.Context(), files)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &CRDs{files}
}

// Case is a write, and what an API server answers to it. Objects are YAML or JSON as string or []byte, or values that
// are marshaled as JSON. An object without a name has the name test.
type Case struct {
	// Name is the name of the subtest.
	Name string
	// Object is the object that is written. Patch is a patch of Old instead: an object is a merge patch, a list is a
	// JSON patch.
	Object, Patch any
	// Old is the stored object. It makes the write an update. It must be valid or, with InvalidOld, invalid: an object
	// that was stored before the CRD became stricter.
	Old        any
	InvalidOld bool
	// Subresource is empty, status or scale.
	Subresource string
	// FieldValidation is strict, warn or ignore. The default is strict.
	FieldValidation string
	// Rejected expects a rejection. Causes and Error imply it.
	Rejected bool
	// Causes are all causes of the rejection, or with MoreCauses some of them.
	Causes     []Cause
	MoreCauses bool
	// Error is a part of the message of the rejection.
	Error string
	// Result has fields of the resulting object. WholeResult has all fields, except those of the metadata.
	Result, WholeResult any
	// Warnings are parts of the warnings. nil: warnings are not compared.
	Warnings []string
}

// Cause is a cause of a rejection. Empty fields match all.
type Cause struct {
	Field   string // such as spec.jobs[0].name
	Type    string // such as FieldValueInvalid
	Message string // a part of the message
	Matches *regexp.Regexp
}

// Run runs each case as a subtest.
func (c *CRDs) Run(t *testing.T, cases []Case) {
	t.Helper()
	if len(c.files) == 0 {
		t.Fatal("there are no CRDs: Load reads them")
	}
	s, err := suiteOf(t.Name(), cases)
	if err != nil {
		t.Fatal(err)
	}
	evaluator, err := open(t.Context(), c.files)
	if err != nil {
		t.Fatal(err)
	}
	s.Given = c.files
	opened := func(context.Context, []suite.CRDs) (suite.Evaluator, error) { return evaluator, nil }
	run(t, s, opened, describe)
}

// suiteOf returns a suite with a test for each case. Each test is a line of the text, so that the line of an error is
// that of its case.
func suiteOf(name string, cases []Case) (*suite.Suite, error) {
	text, named := []byte(`{"tests": [`), map[string]int{}
	for i := range cases {
		if first, ok := named[cases[i].Name]; ok {
			return nil, fmt.Errorf("cases[%d] %q: cases[%d] has the same name", i, cases[i].Name, first)
		}
		named[cases[i].Name] = i
		var test []byte
		fields, err := cases[i].fields()
		if err == nil {
			test, err = json.Marshal(fields)
		}
		if err != nil {
			return nil, fmt.Errorf("cases[%d] %q: %w", i, cases[i].Name, err)
		}
		text = append(append(append(text, '\n'), test...), ',')
	}
	suites, _, err := suite.Read(name, append(bytes.TrimSuffix(text, []byte(",")), "\n]}"...))
	if err != nil {
		return nil, ofCases(cases, err)
	}
	return suites[0], nil
}

// ofCases returns the errors of suite.Read with the names of the cases in place of positions.
func ofCases(cases []Case, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var all []error
	for _, err := range joined.Unwrap() {
		if e, ok := errors.AsType[*suite.Error](err); ok && e.Line > 1 && e.Line-2 < len(cases) {
			err = fmt.Errorf("cases[%d] %q: %s", e.Line-2, cases[e.Line-2].Name, e.Message)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// fields returns the fields of a test in a suite.
func (c *Case) fields() (map[string]any, error) {
	fields := map[string]any{"name": c.Name}
	for name, given := range map[string]any{
		"object": c.Object, "patch": c.Patch, "old": c.Old, "result": c.Result, "wholeResult": c.WholeResult,
	} {
		if given == nil {
			continue
		}
		text, err := toJSON(given)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fields[name] = json.RawMessage(text)
	}
	for name, text := range map[string]string{
		"subresource": c.Subresource, "fieldValidation": c.FieldValidation, "error": c.Error,
	} {
		if text != "" {
			fields[name] = text
		}
	}
	if c.InvalidOld {
		fields["invalidOld"] = true
	}
	if c.Rejected {
		fields["expect"] = "rejected"
	}
	if c.Causes != nil {
		fields["causes"] = causes(c.Causes)
	}
	if c.MoreCauses {
		fields["moreCauses"] = true
	}
	if c.Warnings != nil {
		fields["warnings"] = c.Warnings
	}
	return fields, nil
}

func causes(list []Cause) []map[string]string {
	all := []map[string]string{}
	for _, c := range list {
		fields := map[string]string{}
		for name, text := range map[string]string{"field": c.Field, "type": c.Type, "message": c.Message} {
			if text != "" {
				fields[name] = text
			}
		}
		if c.Matches != nil {
			fields["matches"] = c.Matches.String()
		}
		all = append(all, fields)
	}
	return all
}

// toJSON returns the JSON of an object.
func toJSON(given any) ([]byte, error) {
	var text []byte
	switch given := given.(type) {
	case string:
		text = []byte(given)
	case []byte:
		text = given
	default:
		return json.Marshal(given)
	}
	text, _, err := tree.YAMLToJSON(text, tree.Limits{})
	return text, err
}

// describe describes a failed case, without the positions that a case in Go does not have.
func describe(r *suite.Result) string {
	plain := *r
	plain.File = ""
	return plain.Text()
}
