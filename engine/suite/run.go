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
	// Violations are all violations of the write, for a failed test.
	Violations []Violation `json:"violations,omitempty"`
	// Error says why the test could not be evaluated.
	Error string `json:"error,omitempty"`
}

// Open returns an Evaluator for the CRDs of files.
type Open func(ctx context.Context, files []CRDs) (Evaluator, error)

// Run runs the tests and calls report for each result. It calls open for each set of CRDs. crds are files and
// directories in addition to those of the suite. The error says why the suite could not run.
func (s *Suite) Run(ctx context.Context, open Open, crds []string, report func(*Result)) error {
	sets, err := s.sets(crds)
	if err != nil {
		return err
	}
	var errs []error
	for _, files := range sets {
		r := runner{suite: s, open: open, files: files}
		if r.evaluator, err = open(ctx, files); err != nil {
			errs = append(errs, s.of(err))
			continue
		}
		for _, t := range s.Tests {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			result := r.run(ctx, t)
			if s.openShift != nil {
				result.CRD = files[0].File
			}
			report(result)
		}
	}
	return errors.Join(errs...)
}

// of adds the suite that needs a CRD to an error about the CRD.
func (s *Suite) of(err error) error {
	if at := (*Error)(nil); errors.As(err, &at) {
		return &Error{at.File, at.Line, at.Message + " (for the suite " + s.File + ")"}
	}
	return err
}

// sets returns the sets of CRDs with which all tests run in turn.
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
			files = append(files, CRDs{name, text})
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
		a, err := r.admit(ctx, w, stored)
		if err != nil {
			result.Error = w.title + ": " + err.Error()
			return result
		}
		stored = a.Object
		last := w.expect != nil
		if !last && !a.Allowed {
			result.Failures = []Failure{{t.Line, w.title + " is allowed", "rejected: " + a.Message}}
		} else if last {
			result.Failures, result.OlderText = w.expect.check(a)
		}
		if len(result.Failures) > 0 {
			result.Violations = a.Violations
			r.locate(t, w, result.Violations)
			return result
		}
		if last && w.expect.rejected {
			break
		}
	}
	result.Passed = true
	return result
}

// locate sets the lines of violations.
func (r *runner) locate(t *Test, w *step, list []Violation) {
	if t.of.document == nil || w.pointer == "" || w.patch == engine.JSONPatch {
		return
	}
	for i := range list {
		list[i].Line = t.of.lineOf(w.pointer + list[i].Pointer)
	}
}

// admit evaluates a step.
func (r *runner) admit(ctx context.Context, w *step, stored []byte) (*Answer, error) {
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
	item, of := engine.Item{Subresource: w.subresource}, object
	if old != nil {
		item.OldObject = engine.JSON(old)
		if of = old; w.patch == 0 && w.subresource != "scale" {
			of = object // the write may use another version
		}
	}
	if w.patch != 0 {
		item.Patch = &engine.Patch{Type: w.patch, Document: engine.JSON(object)}
	} else {
		item.Object = engine.JSON(object)
	}
	apiVersion, kind, err := engine.TypeMetaOf(engine.JSON(of), limits)
	if err != nil {
		return nil, err
	}
	if apiVersion == "" || kind == "" {
		return nil, errors.New("the object needs apiVersion and kind to find its CRD")
	}
	return evaluator.Admit(ctx, apiVersion, kind, item,
		engine.EvaluationOptions{FieldValidation: w.fieldValidation, CompleteMetadata: true})
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

// Text describes what a failed test expected and what happened. Positions are left out if the result has no file.
func (r *Result) Text() string {
	var lines []string
	if r.Error != "" {
		lines = append(lines, "error: "+r.Error)
	}
	for _, f := range r.Failures {
		lines = append(lines, r.position(f.Line)+"expected "+f.Expected, "  got "+f.Got)
	}
	for i := range r.Violations {
		lines = append(lines, "violation: "+r.position(r.Violations[i].Line)+r.Violations[i].String())
	}
	return strings.Join(lines, "\n")
}
