package workspace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// Answer is the verdict on an object, or the reason why it was not evaluated.
type Answer struct {
	// CRDs are those that give this answer: one, or several with the same answer.
	CRDs []*CRD
	// Verdict is nil if Err is set.
	Verdict *engine.Verdict
	Err     error
}

// Files returns the names of the files of its CRDs, comma-separated.
func (a *Answer) Files() string {
	var names []string
	for _, c := range a.CRDs {
		names = append(names, c.File)
	}
	return strings.Join(names, ", ")
}

// RejectedCRDError is the error of an object whose CRD is rejected, or could not be checked.
type RejectedCRDError struct {
	CRD    *CRD
	Reason string
	// Unchecked reports whether there is no verdict on the CRD.
	Unchecked bool
}

// Error names the CRD and its file.
func (e *RejectedCRDError) Error() string {
	verdict := "is rejected"
	if e.Unchecked {
		verdict = "could not be checked"
	}
	return fmt.Sprintf("its CRD %s in %s %s: %s", e.CRD.Name, e.CRD.File, verdict, e.Reason)
}

// WithoutCRDError is the error of a custom resource whose kind has no CRD in the workspace.
type WithoutCRDError struct {
	APIVersion, Kind string
	// Similar is the kind that was probably meant, with its group, "" if unknown.
	Similar, SimilarGroup string
	// BuiltIn reports whether the kind is one of Kubernetes itself, which has no CRD.
	BuiltIn bool
}

// Error suggests what to do.
func (e *WithoutCRDError) Error() string {
	text := fmt.Sprintf("no CRD for %s (%s)", e.Kind, e.APIVersion)
	if e.Similar != "" {
		return fmt.Sprintf("%s: did you mean %s (%s)?", text, e.Similar, e.SimilarGroup)
	}
	return text + ": add its CRD to the files, or name it with --crds"
}

// Candidates returns the CRDs that apply to the objects of a kind in a file: the accepted ones of the first rank that
// has any. Of CRDs with the same definition, it returns only the first. file is the Source.Path of the file. If there
// is no accepted CRD, the error is a *RejectedCRDError or a *WithoutCRDError.
func (w *Workspace) Candidates(ctx context.Context, apiVersion, kind, file string) (list []*CRD, err error) {
	if only := w.ofKind(apiVersion, kind); len(only) == 1 && w.Compile(ctx, only[0]).Accepted {
		return only, nil
	}
	var seen []string
	for _, rank := range w.Ranked(apiVersion, kind, file) {
		for _, c := range rank {
			compiled := w.Compile(ctx, c)
			switch key := compiled.key(c); {
			case !compiled.Accepted:
				err = cmp.Or(err, error(&RejectedCRDError{c, compiled.reason(), compiled.Err != nil}))
			case !slices.Contains(seen, key):
				seen, list = append(seen, key), append(list, c)
			}
		}
		if len(list) > 0 {
			return list, nil
		}
	}
	if err != nil {
		return nil, err
	}
	similar, group := w.Similar(apiVersion, kind)
	return nil, &WithoutCRDError{apiVersion, kind, similar, group, isBuiltIn(apiVersion)}
}

// key returns a text that is the same for equal definitions.
func (c *Compiled) key(of *CRD) string {
	if c.Definition != nil {
		return c.Definition.Revision()
	}
	return string(of.text())
}

// Combine merges answers of single CRDs that have the same verdict, violations and warnings.
func Combine(answers []Answer) (combined []Answer) {
	if len(answers) == 1 {
		return answers
	}
	for _, a := range answers {
		i := slices.IndexFunc(combined, func(other Answer) bool { return other.same(a.Verdict, a.Err) })
		if i < 0 {
			combined = append(combined, a)
			continue
		}
		combined[i].CRDs = slices.Concat(combined[i].CRDs, a.CRDs)
	}
	return combined
}

// Evaluate calls evaluate with each of the Candidates of an object. It returns one Answer, or several if the CRDs have
// different answers.
func (w *Workspace) Evaluate(ctx context.Context, apiVersion, kind, file string,
	evaluate func(*CRD, *engine.Definition) (*engine.Verdict, error)) []Answer {
	candidates, err := w.Candidates(ctx, apiVersion, kind, file)
	if len(candidates) == 0 {
		return []Answer{{Err: err}}
	}
	answers := make([]Answer, len(candidates))
	for i, c := range candidates {
		answers[i].CRDs = []*CRD{c}
		answers[i].Verdict, answers[i].Err = evaluate(c, c.Compiled().Definition)
	}
	return Combine(answers)
}

// same reports whether an answer is the same as another one.
func (a *Answer) same(v *engine.Verdict, err error) bool {
	if a.Err != nil || err != nil {
		return a.Err != nil && err != nil && a.Err.Error() == err.Error()
	}
	sameViolation := func(a, b engine.Violation) bool { return a.Pointer == b.Pointer && a.Error() == b.Error() }
	sameWarning := func(a, b engine.Warning) bool { return a.Pointer == b.Pointer && a.Type == b.Type && a.Text == b.Text }
	if r := a.Verdict.Rejection; r != nil && v.Rejection != nil && r.Message != v.Rejection.Message {
		return false
	}
	return a.Verdict.Allowed == v.Allowed && slices.EqualFunc(a.Verdict.Warnings, v.Warnings, sameWarning) &&
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
