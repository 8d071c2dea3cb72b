package main

import (
	"cmp"
	"fmt"
	"slices"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/server/terminal"
)

// outcome is the result for an object.
type outcome struct {
	input.Location
	Line      int    `json:"line"`
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"` // of the document, so that it does not depend on the verdict

	Operation string                         `json:"operation"` // CREATE, UPDATE, PATCH
	Verdict   inREST[*crdevalv1.Verdict]     `json:"verdict,omitzero"`
	Next      []inREST[*crdevalv1.Violation] `json:"nextViolations,omitempty"` // reported once strict decoding passes
	Skipped   string                         `json:"skipped,omitempty"`        // why the document was skipped
	Error     string                         `json:"error,omitempty"`          // why the object could not be evaluated

	write     *write
	patchName string // of the file with the positions, for a patch
}

// inlinePatch is the name of the patch of --patch in positions.
const inlinePatch = "patch"

// newOutcome returns an outcome without a result.
func newOutcome(c *admitCommand, w *write) *outcome {
	o := &outcome{
		Location: w.Location, Line: w.Line(), Kind: w.kind, Name: w.Name, Namespace: w.Namespace,
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

// take records a verdict. Positions and lines become those of the file, except for a patch.
func (o *outcome) take(v *crdevalv1.Verdict) {
	o.Verdict.message = v
	if o.patchName == "" {
		locateAll(o.write.Source, v.GetViolations(), v.GetNext(), v.GetRatcheted())
		for _, c := range slices.Concat(v.GetChanges().GetPruned(), v.GetChanges().GetDefaulted()) {
			c.Position = locate(o.write.Source, c.GetPointer(), c.GetPosition())
		}
		v.Warnings = fileWarnings(o.write.Source, v.GetWarnings())
		if r := v.GetRejection(); r != nil {
			texts := fileLines(o.write.Source, []string{r.GetMessage(), r.GetCause()})
			r.Message, r.Cause = texts[0], texts[1]
		}
	}
	for _, next := range v.GetNext() {
		o.Next = append(o.Next, inREST[*crdevalv1.Violation]{next})
	}
	v.Next = nil
}

func (o *outcome) allowed() bool { return o.Verdict.message.GetAllowed() }

// object returns the object as an API server returns it, as JSON.
func (o *outcome) object() []byte { return o.Verdict.message.GetObject().GetJson() }

// positionText formats a position like a compiler; nil is the position of the object.
func (o *outcome) positionText(p *crdevalv1.Position) string {
	if p == nil {
		return fmt.Sprintf("%s:%d", terminal.OneLine(o.File), o.Line)
	}
	return positionText(cmp.Or(o.patchName, o.File), p)
}

// title identifies the object in messages.
func (o *outcome) title() string { return o.write.TitleAs(o.Kind) }
