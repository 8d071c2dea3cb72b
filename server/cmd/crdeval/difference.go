package main

import (
	"encoding/json"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Classes of changes.
const (
	compatible = "compatible"
	care       = "care"
	breaking   = "breaking"
)

var rank = map[string]int{compatible: 0, care: 1, breaking: 2}

func worse(a, b string) string {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

var classNames = map[crdevalv1.ChangeClass]string{
	crdevalv1.ChangeClass_CHANGE_CLASS_COMPATIBLE: compatible,
	crdevalv1.ChangeClass_CHANGE_CLASS_NEEDS_CARE: care,
	crdevalv1.ChangeClass_CHANGE_CLASS_BREAKING:   breaking,
}

// difference is the comparison of two CRDs. Its fields are named as in the REST API.
type difference struct {
	Name           string      `json:"name"`
	Old            string      `json:"old"` // file and document, or the registered revision
	New            string      `json:"new"`
	Class          string      `json:"class"`
	Identical      bool        `json:"identical"`
	Created        bool        `json:"created,omitempty"` // OLD does not have the CRD
	Gone           bool        `json:"gone,omitempty"`    // NEW does not have the CRD
	Accepted       bool        `json:"accepted"`
	Rejection      *rejection  `json:"rejection,omitempty"`
	Violations     []violation `json:"violations"`
	Warnings       []string    `json:"warnings"`
	Changes        []change    `json:"changes"`
	OmittedChanges int         `json:"omittedChanges,omitempty"`
	Replayed       []replayed  `json:"replayed,omitempty"`
	Error          string      `json:"error,omitempty"` // why the CRDs could not be compared
	Line           int         `json:"line,omitempty"`  // of the error, if known

	old, new *source // nil for a registered or missing CRD
	failed   *source // that has the error
	kind     string  // of the objects
	foreign  int     // number of objects of other kinds
}

type change struct {
	Class           string          `json:"class"`
	Stored          string          `json:"stored"`
	Writers         string          `json:"writers"`
	Readers         string          `json:"readers"`
	Kind            string          `json:"kind"`
	Version         string          `json:"version,omitempty"`
	SchemaPointer   string          `json:"schemaPointer,omitempty"`
	ManifestPointer string          `json:"manifestPointer"`
	Message         string          `json:"message"`
	OldValue        json.RawMessage `json:"oldValue,omitempty"`
	NewValue        json.RawMessage `json:"newValue,omitempty"`
	OldPosition     *position       `json:"oldPosition,omitempty"`
	NewPosition     *position       `json:"newPosition,omitempty"`
}

// replayed is the result for an object under both CRDs.
type replayed struct {
	location
	Line               int               `json:"line"`
	Name               string            `json:"name"`
	Namespace          string            `json:"namespace,omitempty"`
	Outcomes           []string          `json:"outcomes"`
	Violations         []violation       `json:"violations,omitempty"` // only those of the new CRD
	Differences        []fieldDifference `json:"differences,omitempty"`
	OmittedDifferences int               `json:"omittedDifferences,omitempty"`
	Error              string            `json:"error,omitempty"`
}

// fieldDifference is a field of an object that differs under the two CRDs.
type fieldDifference struct {
	Outcome  string          `json:"outcome"`
	Version  string          `json:"version,omitempty"`
	Path     string          `json:"path"`
	Pointer  string          `json:"pointer"`
	OldValue json.RawMessage `json:"oldValue,omitempty"`
	NewValue json.RawMessage `json:"newValue,omitempty"`
}

// newDifference returns a difference without a result. Its lists are empty instead of null in JSON.
func newDifference(name, old, latest string) *difference {
	return &difference{Name: name, Old: old, New: latest, Violations: []violation{}, Warnings: []string{},
		Changes: []change{}}
}

// fail records why the CRDs could not be compared.
func (d *difference) fail(at *source, err error) {
	d.Error, d.Line, _ = at.Describe(err)
	d.failed, d.Class = at, breaking
}

// takeReport records what an API server answers to the new CRD.
func (d *difference) takeReport(accepted bool, r *crdevalv1.CrdReport) {
	d.Accepted, d.Warnings = accepted, append([]string{}, r.GetWarnings()...)
	d.Rejection, d.Violations = rejectionOf(r.GetRejection()), violationsOf(r.GetViolations(), d.new.locate)
	if !accepted {
		d.Class = breaking
	}
}

// takeChanges records the changes.
func (d *difference) takeChanges(a *crdevalv1.DiffCrdResponse) {
	d.takeReport(a.GetAccepted(), a.GetReport())
	if d.old == nil {
		d.Old = a.GetBase().GetRevision()
	}
	d.Class, d.Identical, d.OmittedChanges = classNames[a.GetChangeClass()], a.GetIdentical(), int(a.GetOmittedChanges())
	for _, c := range a.GetChanges() {
		pointer := c.GetManifestPointer()
		d.Changes = append(d.Changes, change{
			Class: classNames[c.GetChangeClass()], Stored: classNames[c.GetStored()], Writers: classNames[c.GetWriters()],
			Readers: classNames[c.GetReaders()], Kind: c.GetKind(), Version: c.GetVersion(), SchemaPointer: c.GetSchemaPointer(),
			ManifestPointer: pointer, Message: c.GetMessage(), OldValue: rawJSON(c.GetOldValue()), NewValue: rawJSON(c.GetNewValue()),
			OldPosition: d.old.locate(pointer, c.GetOldPosition()), NewPosition: d.new.locate(pointer, c.GetNewPosition()),
		})
	}
}

const (
	newlyRejected    = "newly rejected"
	keptByRatcheting = "kept by ratcheting"
	newlyAccepted    = "newly accepted"
	same             = "same"
)

var outcomeNames = map[crdevalv1.ReplayOutcome]string{
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_REJECTED:        newlyRejected,
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_KEPT_BY_RATCHETING:    keptByRatcheting,
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_ACCEPTED:        newlyAccepted,
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_PRUNED_DIFFERENTLY:    "pruned differently",
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_DEFAULTED_DIFFERENTLY: "defaulted differently",
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_CONVERTED_DIFFERENTLY: "converted differently",
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_SAME:                  same,
}

func replayedOf(o *source, r *crdevalv1.ReplayResult) replayed {
	out := replayed{
		location: o.location, Line: o.Line(), Name: o.id.Metadata.Name, Namespace: o.id.Metadata.Namespace,
		Outcomes: []string{}, OmittedDifferences: int(r.GetOmittedDifferences()),
	}
	for _, outcome := range r.GetOutcomes() {
		out.Outcomes = append(out.Outcomes, outcomeNames[outcome])
	}
	known := map[string]bool{}
	for _, v := range violationsOf(r.GetOldViolations(), o.locate) {
		known[v.text()] = true
	}
	for _, v := range violationsOf(r.GetNewViolations(), o.locate) {
		if !known[v.text()] {
			out.Violations = append(out.Violations, v)
		}
	}
	for _, f := range r.GetDifferences() {
		out.Differences = append(out.Differences, fieldDifference{
			Outcome: outcomeNames[f.GetOutcome()], Version: f.GetVersion(), Path: f.GetPath(), Pointer: f.GetPointer(),
			OldValue: rawJSON(f.GetOldValue()), NewValue: rawJSON(f.GetNewValue()),
		})
	}
	if e := r.GetError(); e != nil {
		out.Error, _, _ = o.Describe(callError("", "", status.ErrorProto(e)))
	}
	return out
}

// worst returns the worst class of the changes and the objects.
func (d *difference) worst() string {
	worst := d.Class
	for i := range d.Replayed {
		worst = worse(worst, d.Replayed[i].class())
	}
	return worst
}

// class returns the class of the result for an object. It is breaking if it is rejected or loses a field.
func (r *replayed) class() string {
	class := compatible
	for _, outcome := range r.Outcomes {
		switch outcome {
		case newlyRejected:
			class = breaking
		case same, newlyAccepted:
		default:
			class = worse(class, care)
		}
	}
	for i := range r.Differences {
		if r.Differences[i].OldValue != nil && r.Differences[i].NewValue == nil {
			class = breaking
		}
	}
	return class
}
