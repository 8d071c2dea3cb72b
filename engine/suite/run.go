package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// Result is the result of a test.
type Result struct {
	File string `json:"file"` // of the suite
	Line int    `json:"line"`
	Name string `json:"name"`
	// CRD is the file of the CRD that the test ran with, if the suite runs with several CRDs in turn.
	CRD    string `json:"crd,omitempty"`
	Passed bool   `json:"passed"`
	// OlderText reports that the error matches only except for how older versions of Kubernetes print values.
	OlderText bool `json:"olderText,omitempty"`
	// Failures say what was expected and what happened.
	Failures []Failure `json:"failures,omitempty"`
	// Violations are all violations of the write, for a failed test, and those that unknown and duplicate fields hide.
	Violations []Violation `json:"violations,omitempty"`
	// Notes say more about a failed write, in crdeval's words.
	Notes []string `json:"notes,omitempty"`
	// Error says why the test could not be evaluated.
	Error string `json:"error,omitempty"`
}

// Open returns an Evaluator for the CRDs of files.
type Open func(ctx context.Context, files []CRDs) (Evaluator, error)

// Run runs the tests and calls report for each result. It calls open for each set of CRDs. crds are files and
// directories in addition to those of the suite. The error says why the suite could not run.
func (s *Suite) Run(ctx context.Context, open Open, crds []string, report func(*Result)) error {
	sets, err := s.Sets(crds)
	if err != nil {
		return err
	}
	var errs []error
	for _, set := range sets {
		evaluator, err := open(ctx, set.Files)
		if err != nil {
			errs = append(errs, s.of(err))
			continue
		}
		for _, t := range s.Tests {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			report(set.Run(ctx, t, evaluator, open))
		}
	}
	return errors.Join(errs...)
}

// Set is a suite with one of the sets of CRDs with which all its tests run in turn.
type Set struct {
	Suite *Suite
	Files []CRDs
}

// Run runs a test of the suite with an Evaluator for the CRDs of the set. It calls open for changed CRDs, if the test
// has patches of them.
func (s *Set) Run(ctx context.Context, t *Test, evaluator Evaluator, open Open) *Result {
	r := runner{suite: s.Suite, open: open, files: s.Files, evaluator: evaluator}
	result := r.run(ctx, t)
	if s.Suite.openShift != nil {
		result.CRD = s.Files[0].File
	}
	return result
}

// of adds the suite that needs a CRD to an error about the CRD.
func (s *Suite) of(err error) error {
	if at := (*Error)(nil); errors.As(err, &at) {
		first, rest, _ := strings.Cut(at.Message, "\n")
		return &Error{at.File, at.Line, strings.TrimSuffix(first+" (for the suite "+s.File+")\n"+rest, "\n")}
	}
	return err
}

// Sets returns the sets of CRDs with which all tests run in turn. crds are files and directories in addition to those
// of the suite.
func (s *Suite) Sets(crds []string) (all []*Set, err error) {
	sets, err := s.sets(crds)
	for _, files := range sets {
		all = append(all, &Set{s, files})
	}
	return all, err
}

func (s *Suite) sets(more []string) ([][]CRDs, error) {
	if s.openShift != nil {
		return s.openShift.sets(s, more)
	}
	files, err := ReadCRDs(slices.Concat(s.CRDs, more)...)
	files = append(files, s.Given...)
	switch {
	case err != nil:
		return nil, &Error{s.File, s.Line, "crds: " + err.Error()}
	case len(files) == 0:
		return nil, &Error{s.File, s.Line, "the suite has no CRDs: add the field crds, or use --crds"}
	}
	return [][]CRDs{files}, nil
}

// ReadCRDs reads files, and the files of directories.
func ReadCRDs(paths ...string) (files []CRDs, err error) {
	for _, path := range paths {
		if strings.Contains(path, "://") {
			return nil, fmt.Errorf("%s is a URL: suites read CRDs only from files and directories", path)
		}
		names := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			entries, err := os.ReadDir(path)
			if err != nil {
				return nil, err
			}
			names = nil
			for _, e := range entries {
				ext := filepath.Ext(e.Name())
				if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, ext) && e.Name()[0] != '.' {
					names = append(names, filepath.Join(path, e.Name()))
				}
			}
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			if !bytes.Contains(text, []byte("CustomResourceDefinition")) {
				if len(names) == 1 {
					return nil, fmt.Errorf("%s has no CustomResourceDefinition", name)
				}
				continue
			}
			files = append(files, CRDs{File: name, Text: text})
		}
	}
	return files, nil
}

// runner runs tests with one set of CRDs.
type runner struct {
	suite     *Suite
	open      Open
	files     []CRDs
	evaluator Evaluator
}

func (r *runner) run(ctx context.Context, t *Test) *Result {
	result := &Result{File: r.suite.File, Line: t.Line, Name: t.Name}
	var stored []byte
	for i := range t.steps {
		w := &t.steps[i]
		if w.skip != nil && w.skip(stored) {
			continue
		}
		if done, err := r.checkOld(ctx, t, w, result); done || err != nil {
			if err != nil {
				result.Error = "old: " + err.Error()
			}
			return result
		}
		a, err := r.admit(ctx, w, stored)
		if err != nil {
			result.Error = w.title + ": " + err.Error()
			return result
		}
		stored = a.Object
		last := w.expect != nil
		if !last && !a.Allowed {
			result.Failures = []Failure{{t.Line, w.title + " is allowed", "rejected: " + a.message}}
		} else if last {
			result.Failures, result.OlderText = w.expect.check(a)
		}
		if len(result.Failures) > 0 {
			result.Violations, result.Notes = slices.Concat(a.violations, violations(a.Next)), a.notes
			r.locate(t, w.at, result.Violations)
			return result
		}
		if last && w.expect.rejected {
			break
		}
	}
	result.Passed = true
	return result
}

// checkOld checks the old object of a step, and adds a failure if its validity is not the expected one.
func (r *runner) checkOld(ctx context.Context, t *Test, w *step, result *Result) (failed bool, err error) {
	if w.check == nil || w.old == nil {
		return false, nil
	}
	apiVersion, kind, err := engine.JSON(w.old).TypeMeta(limits)
	switch {
	case err != nil:
		return false, err
	case apiVersion == "" || kind == "":
		return false, errors.New("the object needs apiVersion and kind to find its CRD")
	}
	found, err := r.storedViolations(ctx, apiVersion, kind, withMetadata(w.old, map[string]any{"resourceVersion": nil}))
	switch {
	case err != nil:
		return false, err
	case len(found) > 0 == w.check.invalid:
		return false, nil
	case w.check.invalid:
		result.Failures = []Failure{{t.of.lineOf("/invalidOld"), "an invalid old object", "a valid one: remove invalidOld"}}
	default:
		r.locate(t, w.check.at, found)
		result.Violations = found
		result.Failures = []Failure{{t.of.lineOf("/old"), "a valid old object",
			"an invalid one: correct it, or set invalidOld: true for an object that was stored before the CRD became stricter"}}
	}
	return true, nil
}

// storedViolations returns why an API server would not have stored an object as it is, with its status. An API server
// prunes fields that the schema does not have.
func (r *runner) storedViolations(ctx context.Context, apiVersion, kind string, object []byte) (all []Violation, err error) {
	pruned, v, err := r.evaluator.ReadStored(ctx, apiVersion, kind, object,
		engine.ValidateOptions{AsGiven: true, CompleteMetadata: true, FieldValidation: engine.FieldValidationIgnore})
	if err != nil {
		return nil, err
	}
	for i := range pruned {
		all = append(all, Violation{Field: pruned[i].Path, Message: "unknown field", Pointer: pruned[i].Pointer})
	}
	all = append(all, violations(v.Violations)...)
	if !v.Allowed && len(all) == 0 {
		all = append(all, Violation{Message: v.Rejection.Message})
	}
	return all, nil
}

// locate sets the lines of violations. pointers are those of the objects in the test: the line is that of the first
// that has the field, or else that of the base.
func (r *runner) locate(t *Test, pointers []string, list []Violation) {
	if t.of.document == nil || len(pointers) == 0 || len(list) == 0 {
		return
	}
	root, starts := decoded(t.of.json), []string{}
	for _, pointer := range pointers {
		starts = append(starts, t.of.pointer+pointer)
	}
	starts = append(starts, "/base")
	for i := range list {
		best, most := t.of, 0
		for _, start := range starts {
			below := depth(root, start+list[i].Pointer) - strings.Count(start, "/")
			if below > most || below == 0 && best.pointer == t.of.pointer {
				best, most = node{t.of.document, start, nil}, below
			}
		}
		list[i].Line = best.lineOf(list[i].Pointer)
	}
}

// admit evaluates a step.
func (r *runner) admit(ctx context.Context, w *step, stored []byte) (*answer, error) {
	evaluator, old := r.evaluator, w.old
	if w.keepsOld {
		old = stored
	}
	object, err := w.object(stored)
	if err != nil {
		return nil, err
	}
	if w.patches != nil {
		if evaluator, err = r.patched(ctx, w.patches); err != nil {
			return nil, err
		}
	}
	var of []byte // the object with the kind of the custom resource
	var write engine.Write
	switch {
	case w.patch != 0:
		of = old
		write = engine.Patch{
			Type: w.patch, Body: engine.JSON(object), Old: engine.JSON(old), Subresource: w.subresource,
		}
	case old == nil && w.subresource == "":
		of, write = object, engine.Create{Object: engine.JSON(object)}
	default:
		if of = object; w.subresource == "scale" { // otherwise the write may use another version than the old object
			of = old
		}
		write = engine.Update{Object: engine.JSON(object), Old: engine.JSON(old), Subresource: w.subresource}
	}
	apiVersion, kind, err := engine.JSON(of).TypeMeta(limits)
	if err != nil {
		return nil, err
	}
	if apiVersion == "" || kind == "" {
		return nil, errors.New("the object needs apiVersion and kind to find its CRD")
	}
	v, err := evaluator.Admit(ctx, apiVersion, kind, write,
		engine.AdmitOptions{FieldValidation: w.fieldValidation, CompleteMetadata: true})
	if err != nil {
		return nil, err
	}
	return answerOf(v), nil
}

// patched returns an evaluator for the CRD with JSON patches applied.
func (r *runner) patched(ctx context.Context, patches []byte) (Evaluator, error) {
	crd, err := r.suite.openShift.patch(r.files[0].File, patches)
	if err != nil {
		return nil, err
	}
	return r.open(ctx, []CRDs{crd})
}

// Summary counts results.
type Summary struct {
	Tests, Passed, Failed, Errors int
	OlderTexts                    int // of Passed
}

// Add counts a result.
func (s *Summary) Add(r *Result) {
	s.Tests++
	switch {
	case r.Error != "":
		s.Errors++
	case r.Passed:
		s.Passed++
		if r.OlderText {
			s.OlderTexts++
		}
	default:
		s.Failed++
	}
}

// position returns a prefix with file and line, "" without a file or a line.
func (r *Result) position(line int) string {
	if r.File == "" || line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", r.File, line)
}

// Text describes what a failed test expected and what happened. It is empty for a test that passed. Positions are left
// out if the result has no file.
func (r *Result) Text() string {
	var lines []string
	if r.Error != "" {
		lines = append(lines, "error: "+r.Error)
	}
	for _, f := range r.Failures {
		lines = append(lines, r.position(f.Line)+"expected "+f.Expected, "  got "+f.Got)
	}
	for _, note := range r.Notes {
		lines = append(lines, "note: "+note)
	}
	for i := range r.Violations {
		lines = append(lines, "violation: "+r.position(r.Violations[i].Line)+r.Violations[i].String())
	}
	return strings.Join(lines, "\n")
}
