package main

import (
	"cmp"
	"encoding/json"
	"fmt"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// outcome is the result for an object. Its fields are named as in the REST API.
type outcome struct {
	location
	Line      int    `json:"line"`
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`

	Operation  string          `json:"operation"` // CREATE, UPDATE, PATCH
	Allowed    bool            `json:"allowed"`
	Deletes    bool            `json:"deletes,omitempty"`
	Rejection  *rejection      `json:"rejection,omitempty"`
	Violations []violation     `json:"violations"`
	Next       []violation     `json:"nextViolations,omitempty"` // reported once strict decoding passes
	Warnings   []string        `json:"warnings"`
	Pruned     []fieldChange   `json:"pruned"`
	Defaulted  []fieldChange   `json:"defaulted"`
	Ratcheted  []violation     `json:"ratcheted,omitempty"`
	Object     json.RawMessage `json:"object,omitempty"`
	Stored     json.RawMessage `json:"storedObject,omitempty"`
	Skipped    string          `json:"skipped,omitempty"` // why the document was skipped
	Error      string          `json:"error,omitempty"`   // why the object could not be evaluated

	write     *write
	patchName string // of the file with the positions, for a patch
	traces    []*crdevalv1.RuleTrace
}

// newOutcome returns an outcome without a result. Its lists are empty instead of null in JSON.
func newOutcome(c *admitCommand, w *write) *outcome {
	o := &outcome{
		location: w.location, Line: w.Line(), Kind: w.kind, Name: w.id.Metadata.Name, Namespace: w.id.Metadata.Namespace,
		Operation: "CREATE", Violations: []violation{}, Warnings: []string{}, Pruned: []fieldChange{}, Defaulted: []fieldChange{}, write: w,
	}
	switch {
	case w.patch != nil:
		o.Operation, o.patchName = "PATCH", cmp.Or(c.PatchFile, "patch")
	case w.old != nil:
		o.Operation = "UPDATE"
	}
	return o
}

// take records a verdict.
func (o *outcome) take(v *crdevalv1.Verdict) {
	o.Allowed, o.Deletes, o.traces = v.GetAllowed(), v.GetDeletes(), v.GetRuleTraces().GetTraces()
	o.Rejection = rejectionOf(v.GetRejection())
	o.Violations, o.Ratcheted = violationsOf(v.GetViolations(), o.locate), violationsOf(v.GetRatcheted(), o.locate)
	o.Pruned = fieldChangesOf(v.GetChanges().GetPruned(), o.locate)
	o.Defaulted = fieldChangesOf(v.GetChanges().GetDefaulted(), o.locate)
	o.Object = rawJSON(v.GetObject())
	if o.Stored = rawJSON(v.GetStoredObject()); o.Stored == nil {
		o.Stored = o.Object
	}
	for _, warning := range v.GetWarnings() {
		o.Warnings = append(o.Warnings, o.inFile(warning))
	}
	if o.Rejection != nil {
		o.Rejection.Message = o.inFile(o.Rejection.Message)
	}
	if o.Namespace == "" {
		var stored identity
		_ = json.Unmarshal(o.Object, &stored)
		o.Namespace = stored.Metadata.Namespace
	}
}

// inFile replaces the line numbers of YAML errors in a message by those of the file.
func (o *outcome) inFile(message string) string {
	if o.patchName != "" || o.write.Document.YAML == nil {
		return message
	}
	text, _ := o.write.FileLines(message)
	return text
}

// locate returns the position in the file, or in the patch, of a field.
func (o *outcome) locate(pointer string, own *crdevalv1.Position) *position {
	if o.patchName != "" && own != nil {
		return &position{Line: int(own.GetLine()), Column: int(own.GetColumn()), Offset: int(own.GetOffset())}
	}
	return o.write.locate(pointer, own)
}

// placed formats a position like a compiler; nil is the position of the object.
func (o *outcome) placed(p *position) string {
	if p == nil {
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return placed(cmp.Or(o.patchName, o.File), p)
}

// title identifies the object in messages.
func (o *outcome) title() string {
	name := o.Name
	if prefix := o.write.id.Metadata.GenerateName; name == "" && prefix != "" {
		name = prefix + "…" // a server generates the rest
	}
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	switch {
	case o.Kind == "" && name == "":
		return "a document without a kind"
	case name == "":
		return o.Kind
	}
	return o.Kind + " " + name
}
