package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// Answer is the verdict on an object, or the reason why there is none.
type Answer struct {
	// CRDs give this answer: the one that was chosen, or several whose answers are the same.
	CRDs []*CRD
	// Verdict is nil if Err is not.
	Verdict *engine.Verdict
	Err     error
}

// RejectedCRDError is the error of an object whose CRD is rejected or cannot be read.
type RejectedCRDError struct {
	CRD    *CRD
	Reason string
}

// Error names the CRD and its file.
func (e *RejectedCRDError) Error() string {
	return fmt.Sprintf("its CRD %s in %s is rejected: %s", e.CRD.Name, e.CRD.File.Name, e.Reason)
}

// WithoutCRDError is the error of a custom resource whose kind has no CRD in the workspace.
type WithoutCRDError struct {
	APIVersion, Kind string
	// Similar is the kind that was probably meant, with its group, "" if unknown.
	Similar, SimilarGroup string
}

// Error suggests what to do.
func (e *WithoutCRDError) Error() string {
	text := fmt.Sprintf("no CRD for %s (%s)", e.Kind, e.APIVersion)
	if e.Similar != "" {
		return fmt.Sprintf("%s: did you mean %s (%s)?", text, e.Similar, e.SimilarGroup)
	}
	return text
}

// Evaluate calls evaluate with the Definition of each CRD that applies to the objects of a kind in a file. file is its
// Source.Path. It returns one Answer, or several if the CRDs have different answers. Answers are the same if the verdict,
// the violations and the warnings are. Rejected CRDs count only if no other CRD applies.
func (w *Workspace) Evaluate(ctx context.Context, apiVersion, kind, file string,
	evaluate func(*CRD, *engine.Definition) (*engine.Verdict, error)) (answers []Answer) {
	var rejected []Answer
	var revisions []string
	for _, c := range w.Choose(apiVersion, kind, file) {
		compiled := c.Compile(ctx, w.Options)
		d := compiled.Definition
		if d == nil {
			rejected = append(rejected, Answer{CRDs: []*CRD{c}, Err: &RejectedCRDError{c, compiled.reason()}})
			continue
		}
		if slices.Contains(revisions, d.Revision()) { // the same CRD in another file
			continue
		}
		revisions = append(revisions, d.Revision())
		verdict, err := evaluate(c, d)
		i := slices.IndexFunc(answers, func(a Answer) bool { return a.same(verdict, err) })
		if i < 0 {
			i, answers = len(answers), append(answers, Answer{Verdict: verdict, Err: err})
		}
		answers[i].CRDs = append(answers[i].CRDs, c)
	}
	switch {
	case len(answers) > 0:
		return answers
	case len(rejected) > 0:
		return rejected[:1]
	}
	similar, group := w.Similar(apiVersion, kind)
	return []Answer{{Err: &WithoutCRDError{apiVersion, kind, similar, group}}}
}

// same reports whether an answer is the same as another one.
func (a *Answer) same(v *engine.Verdict, err error) bool {
	if a.Err != nil || err != nil {
		return a.Err != nil && err != nil && a.Err.Error() == err.Error()
	}
	sameViolation := func(a, b engine.Violation) bool { return a.Pointer == b.Pointer && a.Error() == b.Error() }
	if r := a.Verdict.Rejection; r != nil && v.Rejection != nil && r.Message != v.Rejection.Message {
		return false
	}
	return a.Verdict.Allowed == v.Allowed && slices.Equal(a.Verdict.Warnings, v.Warnings) &&
		slices.EqualFunc(a.Verdict.Violations, v.Violations, sameViolation)
}

// reason returns why there is no Definition.
func (c *Compiled) reason() string {
	switch {
	case c.Err != nil:
		return c.Err.Error()
	case len(c.Report.Violations) > 0:
		return c.Report.Violations[0].Error()
	}
	return c.Report.Rejection.Message
}

// FileNames returns the names of the files of CRDs, for messages.
func FileNames(crds []*CRD) string {
	var names []string
	for _, c := range crds {
		names = append(names, c.File.Name)
	}
	return strings.Join(names, ", ")
}
