package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/crdeval/crdeval/engine"
)

// outcome is what became of one object. What REST tells as well is spelled as there.
type outcome struct {
	File      string `json:"file"`
	Document  int    `json:"document"`       // from 1
	Item      int    `json:"item,omitempty"` // of a document that is a list: from 1
	Line      int    `json:"line"`
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`

	Operation  string          `json:"operation"` // CREATE, UPDATE, PATCH
	Allowed    bool            `json:"allowed"`
	Deletes    bool            `json:"deletes,omitempty"`
	Refusal    *refusal        `json:"rejection,omitempty"`
	Violations []finding       `json:"violations"`
	Warnings   []string        `json:"warnings"`
	Pruned     []fieldChange   `json:"pruned"`
	Defaulted  []fieldChange   `json:"defaulted"`
	Forgiven   []finding       `json:"ratcheted,omitempty"`
	Object     json.RawMessage `json:"object,omitempty"`
	Stored     json.RawMessage `json:"storedObject,omitempty"`
	Error      string          `json:"error,omitempty"` // it could not be judged

	otherKind  bool // it is no object of a CRD that is given
	source     *source
	patch      string // the name of what places are in, where that is a patch
	crd        string // by its name, as far as it is known
	apiVersion string // of the endpoint
	traces     []engine.RuleTrace

	generateName string
}

// finding is a violation with what crdeval adds to it.
type finding struct {
	violation
	Hint *hint `json:"hint,omitempty"`
}

// fieldChange is a field that was removed or filled in.
type fieldChange struct {
	Path     string          `json:"path"`
	Pointer  string          `json:"pointer"`
	Value    json.RawMessage `json:"value"`
	Position *position       `json:"position,omitempty"`
	Hint     *hint           `json:"hint,omitempty"`
}

type hint struct {
	Text        string          `json:"text"`
	Pointer     string          `json:"pointer,omitempty"`
	Replacement json.RawMessage `json:"replacement,omitempty"`
}

// newOutcome is the outcome of a write before anybody has judged it.
func newOutcome(w *write) *outcome {
	o := &outcome{
		File: w.file, Document: w.document, Item: w.item, Line: w.Begin(), Kind: w.id.Kind, Name: w.id.Metadata.Name, Namespace: w.id.Metadata.Namespace,
		Operation: "CREATE", Violations: []finding{}, Warnings: []string{}, Pruned: []fieldChange{}, Defaulted: []fieldChange{}, source: &w.source, apiVersion: w.id.APIVersion,
		generateName: w.id.Metadata.GenerateName,
	}
	switch {
	case w.patch != nil:
		o.Operation, o.patch = "PATCH", w.patchName
	case w.old != nil:
		o.Operation = "UPDATE"
	}
	return o
}

// otherKindError is why a document that is no object of a CRD could not be judged.
type otherKindError string

func (e otherKindError) Error() string { return string(e) }

// fail takes down why the object could not be judged.
func (o *outcome) fail(err error) {
	if other := otherKindError(""); errors.As(err, &other) {
		o.otherKind = true
	}
	text, line, _ := o.source.InFile(err)
	if o.Error = text; line > 0 {
		o.Line = line
	}
}

// take takes down a verdict.
func (o *outcome) take(v *engine.Verdict) {
	o.Allowed, o.Deletes, o.Warnings = v.Allowed, v.Deletes, append(o.Warnings, v.Warnings...)
	if v.Refusal != nil {
		o.Refusal = &refusal{Code: v.Refusal.Code, Reason: v.Refusal.Reason, Message: v.Refusal.Message}
	}
	o.Violations, o.Forgiven = o.findings(v.Violations), o.findings(v.Forgiven)
	o.Pruned, o.Defaulted = o.changes(v.Pruned), o.changes(v.Defaulted)
	o.Object, o.Stored, o.traces = v.Object, v.StoredObject, v.Traces
	if o.Stored == nil {
		o.Stored = o.Object
	}
	if o.Namespace == "" {
		o.Namespace = namespaceOf(o.Object)
	}
}

func (o *outcome) findings(list []engine.Violation) []finding {
	all := make([]finding, len(list))
	for i, v := range violationsOf(o.source, list) {
		v.Position = o.at(v.Pointer, list[i].Position)
		all[i] = finding{v, hintOf(list[i].Hint)}
	}
	return all
}

func (o *outcome) changes(list []engine.FieldChange) []fieldChange {
	all := make([]fieldChange, len(list))
	for i := range list {
		c := &list[i]
		all[i] = fieldChange{Path: c.Path, Pointer: c.Pointer, Value: c.Value, Position: o.at(c.Pointer, c.Position), Hint: hintOf(c.Hint)}
	}
	return all
}

// at is a place in the file, or in the patch.
func (o *outcome) at(pointer string, told *engine.Position) *position {
	if o.patch != "" && told != nil {
		return &position{Line: told.Line, Column: told.Column, Offset: told.Offset}
	}
	return o.source.place(pointer, told)
}

// place names a place, as compilers write it; nil is the document.
func (o *outcome) place(p *position) string {
	switch {
	case p == nil:
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	case o.patch != "":
		return fmt.Sprintf("%s:%d:%d", o.patch, p.Line, p.Column)
	}
	return fmt.Sprintf("%s:%d:%d", o.File, p.Line, p.Column)
}

func hintOf(h *engine.Hint) *hint {
	if h == nil {
		return nil
	}
	return &hint{Text: h.Text, Pointer: h.Pointer, Replacement: h.Replacement}
}

// namespaceOf is the namespace in an object's metadata.
func namespaceOf(object []byte) string {
	var head identity
	if json.Unmarshal(object, &head) != nil {
		return ""
	}
	return head.Metadata.Namespace
}

// title names the object for people.
func (o *outcome) title() string {
	name := o.Name
	if prefix := o.generateName; name == "" && prefix != "" {
		name = prefix + "…" // a server makes up the rest
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
