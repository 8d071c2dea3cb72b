package suite

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Suite is a set of tests of CRDs.
type Suite struct {
	// File is the file of the suite, Line the line on which it begins.
	File string
	Line int
	// Name is the name in the suite. It may be empty.
	Name string
	// CRDs are files or directories of CRDs, relative to the working directory.
	CRDs []string
	// Given are CRDs that were read already.
	Given []CRDs
	// Tests are the tests in their order.
	Tests []*Test
	// Warnings are messages about fields without an effect.
	Warnings []string

	openShift *openShift // nil for a suite in crdeval's own format
}

// Test is a test of a suite.
type Test struct {
	Name string
	// Line is the line of the test in the file of its suite, 0 for a test that is not from a file.
	Line int

	steps   []step
	of      node // the mapping of the test
	invalid bool
}

// step is a write of a test. All writes but the last must be allowed.
type step struct {
	title string
	// patches are JSON patches of the CRD that is in effect for the step, nil for none.
	patches []byte
	// object makes the object of the write, or the patch. stored is the result of the step before, or nil.
	object func(stored []byte) ([]byte, error)
	patch  engine.PatchType
	// old is the stored object. keepsOld says that it is the result of the step before.
	old      []byte
	keepsOld bool

	subresource     string
	fieldValidation engine.FieldValidation
	skip            func(stored []byte) bool
	// at are the pointers of the object in the test, for positions. The values of the base come after them.
	at     []string
	check  *storedCheck // of old, nil for none
	expect *expectation
}

// storedCheck is the check that an API server would have stored an object, or with invalid, that it would not.
type storedCheck struct {
	at      []string
	invalid bool
}

// Read returns the suites of a file and the number of its other documents. Suites are documents that have tests or
// CRDs, and no kind. The file name is the base of relative paths. The error joins an *Error for each error in a suite.
// A suite lacks the tests with errors. If the error is not in a test, the suite is missing. A text without the words
// tests and crds has no suite: it is not parsed and counts as one document, and CheckSyntax finds its errors.
func Read(file string, text []byte) (suites []*Suite, others int, err error) {
	if !bytes.Contains(text, []byte("tests")) && !bytes.Contains(text, []byte("crds")) { // not even a suite with errors
		return nil, 1, nil
	}
	var errs []error
	for d := range tree.SplitYAML(text) {
		root, err := parse(file, d)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s := &Suite{File: file, Line: root.line()}
		switch fields, _ := root.fields("tests", "crdName", "crdNames", "kind", "crds"); {
		case fields["kind"].present() || !fields["tests"].present() && !fields["crds"].present():
			others++
			continue
		case fields["crdName"].present() || fields["crdNames"].present():
			readOpenShift(s, root)
		default:
			readNative(s, root)
		}
		checkNames(s, root)
		slices.SortStableFunc(root.errs, func(a, b error) int { return lineOf(a) - lineOf(b) })
		if errs = append(errs, root.errs...); len(root.errs) == root.inTests && len(s.Tests) > 0 {
			suites = append(suites, s)
		}
	}
	return suites, others, errors.Join(errs...)
}

// CheckSyntax returns the first error in the YAML of a file, or nil.
func CheckSyntax(file string, text []byte) error {
	for d := range tree.SplitYAML(text) {
		if _, err := parse(file, d); err != nil {
			return err
		}
	}
	return nil
}

// lineOf returns the line of an error, 0 if it is unknown.
func lineOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Line
	}
	return 0
}

// tests reads tests, and marks those with errors.
func (n node) tests(list []node, read func(node) *Test) (all []*Test) {
	for _, of := range list {
		before := len(n.errs)
		t := read(of)
		t.invalid = len(n.errs) > before
		all = append(all, t)
		n.inTests += len(n.errs) - before
	}
	return all
}

// checkNames removes the tests with errors. It adds an error for those without a name or with the name of another.
func checkNames(s *Suite, root node) {
	lines := map[string]int{}
	s.Tests = slices.DeleteFunc(s.Tests, func(t *Test) bool {
		switch first := lines[t.Name]; {
		case t.Name == "":
			t.of.wrong("the test has no name")
		case first > 0 && s.openShift == nil: // OpenShift's runner takes duplicates
			t.of.wrong("duplicate name: the test in line %d is also called %q", first, t.Name)
		default:
			lines[t.Name] = t.Line
			return t.invalid
		}
		root.inTests++
		return true
	})
	if len(s.Tests) == 0 && len(root.errs) == 0 {
		root.wrong("the suite has no tests")
	}
}

// Select keeps the tests whose names match a regular expression.
func (s *Suite) Select(names *regexp.Regexp) {
	s.Tests = slices.DeleteFunc(s.Tests, func(t *Test) bool { return !names.MatchString(t.Name) })
}

// relative returns a path of the suite relative to the working directory.
func (s *Suite) relative(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.File), path)
}
