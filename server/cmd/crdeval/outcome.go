package main

import (
	"cmp"
	"errors"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// outcome is the result for an object.
type outcome struct {
	documentID
	Line      int             `json:"line"`             // see onLine
	Column    int             `json:"column,omitempty"` // of an error, if known
	Class     workspace.Class `json:"class,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Name      string          `json:"name,omitempty"`
	Namespace string          `json:"namespace,omitempty"` // of the document, so that it does not depend on the verdict

	Operation string                     `json:"operation,omitempty"` // CREATE, UPDATE, PATCH
	CRDs      []string                   `json:"crds,omitempty"`      // files of the CRDs, if several apply
	Verdict   inREST[*crdevalv1.Verdict] `json:"verdict,omitzero"`
	Skipped   string                     `json:"skipped,omitempty"` // why the document was skipped
	Error     string                     `json:"error,omitempty"`   // why the object could not be evaluated

	write     *write
	skipped   string // the kind of document, for counts
	err       error
	answers   []workspace.Answer // of the evaluation; nil: it was not evaluated
	patchName string             // of the file with the positions, for a patch
}

// inlinePatch is the name of the patch of --patch in positions.
const inlinePatch = "patch"

// newOutcome returns an outcome without a result.
func newOutcome(c *admitCommand, w *write) *outcome {
	o := &outcome{
		documentID: documentIDOf(w.Manifest), Class: workspace.ClassObject, Kind: w.kind, Name: w.Name, Namespace: w.Namespace,
		Operation: "CREATE", write: w,
	}
	switch {
	case w.patch != nil:
		o.Operation, o.patchName = "PATCH", cmp.Or(c.PatchFile, inlinePatch)
	case w.old != nil:
		o.Operation = "UPDATE"
	}
	return o
}

// unreadableFile returns the outcome for a file that cannot be read.
func unreadableFile(f *workspace.File) *outcome {
	m := &workspace.Manifest{Err: f.Err, File: f.Name}
	o := &outcome{documentID: documentIDOf(m), write: &write{Manifest: m}}
	o.fail(workspace.ClassUnreadable, f.Err)
	return o
}

// onLine returns the line of the object or of its error. Most objects are not printed: their lines are not searched.
func (o *outcome) onLine() int {
	if o.Line == 0 {
		o.Line = o.write.Line()
	}
	return o.Line
}

// skip records that the document is not evaluated. kind is for counts.
func (o *outcome) skip(kind, reason string) { o.skipped, o.Skipped = kind, kind+": "+reason }

// fail records why the object could not be evaluated.
func (o *outcome) fail(class workspace.Class, err error) {
	o.Class, o.err, o.Error = class, err, err.Error()
	if line, column := placeOf(err, nil); line > 0 {
		o.Line, o.Column = line, column
	}
}

// placeOf returns the line and the column of an error in a file. If they are not known, the line is that of the manifest,
// which may be nil.
func placeOf(err error, m *workspace.Manifest) (line, column int) {
	var e *engine.Error
	switch {
	case errors.As(err, &e) && e.Position != nil:
		return e.Position.Line, e.Position.Column
	case m == nil:
		return 0, 0
	}
	return m.Line(), 0
}

// verdict returns the verdict, or nil without a verdict and if the verdicts of several CRDs differ.
func (o *outcome) verdict() *engine.Verdict {
	if len(o.answers) != 1 {
		return nil
	}
	return o.answers[0].Verdict
}

// allowed reports whether the object is allowed with every CRD that applies.
func (o *outcome) allowed() bool {
	v := o.verdict()
	return v != nil && v.Allowed
}

// errDiffering is the error of an object about which CRDs disagree.
var errDiffering = errors.New("several CRDs apply, and their answers differ: name the right one with --crds")

// failure returns why the object could not be evaluated, nil if it was.
func (o *outcome) failure() error {
	switch {
	case o.err != nil:
		return o.err
	case len(o.answers) > 1:
		return errDiffering
	case len(o.answers) == 1:
		return o.answers[0].Err
	}
	return nil
}

// crd returns a CRD of the answer, nil for one that only a service has.
func (o *outcome) crd() *workspace.CRD { return o.answers[0].CRDs[0] }

// object returns the object as an API server returns it, as JSON.
func (o *outcome) object() []byte { return o.verdict().Object }

// title identifies the object in messages.
func (o *outcome) title() string { return titleAs(o.write.Manifest, o.Kind) }

// findings returns what is wrong with the object.
func (o *outcome) findings() []diagnosis.Finding {
	if o.err != nil {
		return []diagnosis.Finding{diagnosis.OfError(o.err)}
	}
	return diagnosis.OfAnswers(o.answers)
}

// lines returns the outcome with the fields of its JSON, once for each answer.
func (o *outcome) lines() (all []*outcome) {
	o.onLine()
	if len(o.answers) == 0 {
		return []*outcome{o}
	}
	for _, a := range o.answers {
		line := *o
		if len(o.answers)+len(a.CRDs) > 2 {
			for _, c := range a.CRDs {
				line.CRDs = append(line.CRDs, c.File)
			}
		}
		if err := o.failure(); err != nil {
			line.Error = err.Error()
		}
		if a.Err != nil {
			line.Error = a.Err.Error()
		} else {
			line.Verdict.message = api.VerdictMessage(a.Verdict)
		}
		all = append(all, &line)
	}
	return all
}
