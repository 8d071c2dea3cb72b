package main

import (
	"slices"
	"strings"

	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Classes of changes.
const (
	compatible = crdevalv1.ChangeClass_CHANGE_CLASS_COMPATIBLE
	care       = crdevalv1.ChangeClass_CHANGE_CLASS_NEEDS_CARE
	breaking   = crdevalv1.ChangeClass_CHANGE_CLASS_BREAKING
)

// classNames are the names of classes in flags and texts, from the best to the worst.
var classNames = []string{compatible: "compatible", care: "care", breaking: "breaking"}

// classOf returns the class with a name.
func classOf(name string) crdevalv1.ChangeClass {
	return crdevalv1.ChangeClass(slices.Index(classNames, name))
} //nolint:gosec // small

// Outcomes of replays.
const (
	newlyRejected    = crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_REJECTED
	keptByRatcheting = crdevalv1.ReplayOutcome_REPLAY_OUTCOME_KEPT_BY_RATCHETING
	newlyAccepted    = crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_ACCEPTED
	same             = crdevalv1.ReplayOutcome_REPLAY_OUTCOME_SAME
)

// outcomeName returns the text of an outcome, such as "newly rejected".
func outcomeName(o crdevalv1.ReplayOutcome) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(o.String(), "REPLAY_OUTCOME_"), "_", " "))
}

// difference is the comparison of two CRDs.
type difference struct {
	Name    string `json:"name"`
	Old     string `json:"old"` // file and document, or the registered revision
	New     string `json:"new"`
	Created bool   `json:"created,omitempty"` // OLD does not have the CRD
	Deleted bool   `json:"deleted,omitempty"` // NEW does not have the CRD
	// Diff is the response of the service without the results for objects.
	Diff     inREST[*crdevalv1.DiffCrdResponse] `json:"diff,omitzero"`
	Replayed []replayed                         `json:"replayed,omitempty"`
	Error    string                             `json:"error,omitempty"` // why the CRDs could not be compared
	File     string                             `json:"file,omitempty"`  // that has the error
	Line     int                                `json:"line,omitempty"`  // of the error, if known

	old, new *workspace.Manifest // nil for a registered or missing CRD
	failed   *workspace.Manifest // that has the error
	kind     string              // of the objects
	foreign  int                 // number of objects of other kinds
	searched bool                // counterexamples were requested
}

// replayed is the result for an object under both CRDs.
type replayed struct {
	documentID
	Line      int                             `json:"line"`
	Name      string                          `json:"name"`
	Namespace string                          `json:"namespace,omitempty"`
	Result    inREST[*crdevalv1.ReplayResult] `json:"result"`
	Error     string                          `json:"error,omitempty"`
}

// fail records why the CRDs could not be compared.
func (d *difference) fail(e *documentError) {
	d.Error, d.Line, d.failed, d.File = e.text, e.line, e.at, e.at.File
}

// take records the changes, and what an API server answers to the new CRD.
func (d *difference) take(a *crdevalv1.DiffCrdResponse) {
	d.Diff.message = a
	if d.Old == "" {
		d.Old = a.GetBase().GetRevision()
	}
}

func replayedOf(o *workspace.Manifest, r *crdevalv1.ReplayResult) replayed {
	out := replayed{
		documentID: documentIDOf(o), Line: o.Line(), Name: o.Name, Namespace: o.Namespace,
		Result: inREST[*crdevalv1.ReplayResult]{r},
	}
	if e := r.GetError(); e != nil {
		out.Error = callError("", "", status.ErrorProto(e)).Error()
	}
	return out
}

// class returns the class of the changes.
func (d *difference) class() crdevalv1.ChangeClass {
	if d.Error != "" || d.Deleted {
		return breaking
	}
	return d.Diff.message.GetChangeClass()
}

// worst returns the worst class of the changes and the objects.
func (d *difference) worst() crdevalv1.ChangeClass {
	worst := d.class()
	for i := range d.Replayed {
		worst = max(worst, d.Replayed[i].class())
	}
	return worst
}

// class returns the class of the result for an object. It is breaking if it is rejected or loses a field.
func (r *replayed) class() crdevalv1.ChangeClass {
	class := compatible
	for _, outcome := range r.Result.message.GetOutcomes() {
		switch outcome {
		case newlyRejected:
			class = breaking
		case same, newlyAccepted:
		default:
			class = max(class, care)
		}
	}
	for _, f := range r.Result.message.GetDifferences() {
		if f.GetOldValue() != nil && f.GetNewValue() == nil {
			class = breaking
		}
	}
	return class
}
