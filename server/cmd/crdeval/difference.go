package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// The classes, as they are printed and as --fail-on names them.
const (
	compatible = "compatible"
	care       = "care"
	breaking   = "breaking"
)

// rank orders the classes.
var rank = map[string]int{compatible: 0, care: 1, breaking: 2}

func graver(a, b string) string {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

var classNames = map[engine.ChangeClass]string{engine.Compatible: compatible, engine.NeedsCare: care, engine.Breaking: breaking}

// difference is what is printed of two CRDs of one name.
type difference struct {
	Name           string      `json:"name"`
	Old            string      `json:"old"` // file and document, or the revision that is registered
	New            string      `json:"new"`
	Class          string      `json:"class"`
	Identical      bool        `json:"identical"`
	Created        bool        `json:"created,omitempty"` // there is no old one
	Gone           bool        `json:"gone,omitempty"`    // there is no new one
	Accepted       bool        `json:"accepted"`
	Refusal        *refusal    `json:"rejection,omitempty"`
	Violations     []violation `json:"violations"`
	Warnings       []string    `json:"warnings"`
	Changes        []change    `json:"changes"`
	OmittedChanges int         `json:"omittedChanges,omitempty"`
	Replayed       []replayed  `json:"replayed,omitempty"`
	Error          string      `json:"error,omitempty"` // the two could not be compared
	Line           int         `json:"line,omitempty"`  // of the error, where it is known

	old, new *source // nil for what is registered
	failed   *source // whose Error it is
	kind     string  // of the objects
	foreign  int     // objects of other kinds
}

// change is one change. What REST tells as well is spelled as there.
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

// replayed is what became of one object.
type replayed struct {
	File               string            `json:"file"`
	Document           int               `json:"document"`
	Item               int               `json:"item,omitempty"`
	Line               int               `json:"line"`
	Name               string            `json:"name"`
	Namespace          string            `json:"namespace,omitempty"`
	Outcomes           []string          `json:"outcomes"`
	Violations         []violation       `json:"violations,omitempty"` // that the new one finds and the old one does not
	Differences        []fieldDifference `json:"differences,omitempty"`
	OmittedDifferences int               `json:"omittedDifferences,omitempty"`
	Error              string            `json:"error,omitempty"`
}

// fieldDifference is a field of which the two make different things.
type fieldDifference struct {
	Outcome  string          `json:"outcome"`
	Version  string          `json:"version,omitempty"`
	Path     string          `json:"path"`
	Pointer  string          `json:"pointer"`
	OldValue json.RawMessage `json:"oldValue,omitempty"`
	NewValue json.RawMessage `json:"newValue,omitempty"`
}

// fail takes down why the two could not be compared.
func (d *difference) fail(at *source, err error) {
	d.Error, d.Line, _ = at.InFile(err)
	d.failed, d.Class = at, breaking
}

// report takes down what an API server would say to the new one.
func (d *difference) report(r *engine.Report) {
	if d.Name == "" {
		d.Name = r.Name
	}
	d.Accepted, d.Warnings = r.Accepted, append([]string{}, r.Warnings...)
	d.Violations = violationsOf(d.new, r.Violations)
	if r.Refusal != nil {
		d.Refusal = &refusal{Code: r.Refusal.Code, Reason: r.Refusal.Reason, Message: r.Refusal.Message}
	}
	if !r.Accepted {
		d.Class = breaking
	}
}

// take takes down the changes.
func (d *difference) take(found *engine.Diff) {
	d.Class, d.Identical, d.OmittedChanges = classNames[found.Class], found.Identical, found.OmittedChanges
	d.Changes = make([]change, len(found.Changes))
	for i := range found.Changes {
		c := &found.Changes[i]
		d.Changes[i] = change{
			Class: classNames[c.Class], Stored: classNames[c.Stored], Writers: classNames[c.Writers], Readers: classNames[c.Readers],
			Kind: string(c.Kind), Version: c.Version, SchemaPointer: c.SchemaPointer, ManifestPointer: c.ManifestPointer, Message: c.Message,
			OldValue: c.Old, NewValue: c.New,
			OldPosition: d.old.place(c.ManifestPointer, c.OldPosition), NewPosition: d.new.place(c.ManifestPointer, c.NewPosition),
		}
	}
}

// replay takes down what becomes of the objects of a CRD.
func (d *difference) replay(ctx context.Context, crd *identity, objects []object, compile func() (old, new *engine.Definition, err error)) {
	var items []engine.Item
	var from []*object
	for i := range objects {
		if objects[i].of(crd) {
			items, from = append(items, engine.Item{Object: objects[i].Document}), append(from, &objects[i])
		}
	}
	d.kind, d.foreign = crd.Spec.Names.Kind, len(objects)-len(items)
	if len(items) == 0 {
		return
	}
	old, new, err := compile()
	if err != nil {
		d.fail(d.new, err)
		return
	}
	if new == nil { // judged once more, it cannot be refused
		return
	}
	all, err := engine.Replay(ctx, old, new, items, engine.EvaluationOptions{})
	if err != nil {
		d.fail(d.new, err)
		return
	}
	for i := range all {
		d.Replayed = append(d.Replayed, replayedOf(from[i], &all[i]))
	}
}

// outcomeNames are what people read.
var outcomeNames = map[engine.ReplayOutcome]string{
	engine.NewlyRefused: "newly refused", engine.KeptByRatcheting: "kept by ratcheting", engine.NewlyAccepted: "newly accepted",
	engine.PrunedOtherwise: "pruned otherwise", engine.DefaultedOtherwise: "defaulted otherwise", engine.ConvertedOtherwise: "converted otherwise", engine.Same: "same",
}

func newReplayed(o *object) replayed {
	return replayed{
		File: o.file, Document: o.document, Item: o.item, Line: o.Begin(), Name: o.Metadata.Name, Namespace: o.Metadata.Namespace, Outcomes: []string{},
	}
}

func replayedOf(o *object, r *engine.Replayed) replayed {
	out := newReplayed(o)
	for _, outcome := range r.Outcomes {
		out.Outcomes = append(out.Outcomes, outcomeNames[outcome])
	}
	known := map[string]bool{}
	for i := range r.OldViolations {
		known[r.OldViolations[i].Error()] = true
	}
	for _, v := range violationsOf(&o.source, r.NewViolations) {
		if !known[v.Field+": "+v.Message] {
			out.Violations = append(out.Violations, v)
		}
	}
	for i := range r.Differences {
		f := &r.Differences[i]
		out.Differences = append(out.Differences, fieldDifference{
			Outcome: outcomeNames[f.Outcome], Version: f.Version, Path: f.Path, Pointer: f.Pointer, OldValue: f.Old, NewValue: f.New,
		})
	}
	out.OmittedDifferences = r.OmittedDifferences
	if r.Err != nil {
		out.Error, _, _ = o.InFile(r.Err)
	}
	return out
}

// worst is the class of all that was found, of the objects too.
func (d *difference) worst() string {
	worst := d.Class
	for i := range d.Replayed {
		worst = graver(worst, d.Replayed[i].class())
	}
	return worst
}

// class is what an object adds: refusing it, or losing what it has, is breaking.
func (r *replayed) class() string {
	class := compatible
	for _, outcome := range r.Outcomes {
		switch outcome {
		case outcomeNames[engine.NewlyRefused]:
			class = breaking
		case outcomeNames[engine.Same], outcomeNames[engine.NewlyAccepted]:
		default:
			class = graver(class, care)
		}
	}
	for i := range r.Differences {
		if r.Differences[i].OldValue != nil && r.Differences[i].NewValue == nil {
			class = breaking
		}
	}
	return class
}

// cutAPIVersion splits an apiVersion.
func cutAPIVersion(apiVersion string) (group, version string, found bool) {
	return strings.Cut(apiVersion, "/")
}
