package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/testenv/writecase"
)

// TestWrites runs the cases of package writecase on all paths of an evaluation.
func TestWrites(t *testing.T) {
	definitions := map[string]*Definition{}
	for _, name := range writecase.CRDs(t) {
		definitions[name] = compileCRD(t, writecase.Manifest(name))
	}
	surface := func(name string, paths admission.Paths, trace rules.TraceMode, view View) writecase.Surface {
		s := writecase.Surface{Name: name, Run: func(t *testing.T, c *writecase.Case) writecase.Result {
			t.Helper()
			d := definitions[c.CRD]
			d.compiled.Inner.Paths = paths
			return resultOf(t, d, c, trace, view)
		}}
		switch view {
		case ViewChanged:
			s.Reports = func(_ *writecase.Case, l writecase.Line) (writecase.Line, bool) { return l, l.Key != "object" }
		case ViewNone:
			s.Reports = func(_ *writecase.Case, l writecase.Line) (writecase.Line, bool) {
				l.Hint = ""
				return l, l.Is("verdict", "cause", "error", "violation", "next", "ratcheted", "warning", "deletes", "unchanged")
			}
		}
		return s
	}
	writecase.Run(t, 100,
		surface("engine", admission.Paths{}, rules.TraceNone, ViewFull),
		surface("exact", admission.Paths{Exact: true}, rules.TraceNone, ViewFull),
		surface("no closures", admission.Paths{NoClosures: true}, rules.TraceNone, ViewFull),
		surface("traced", admission.Paths{}, rules.TraceAll, ViewFull),
		surface("view of changes", admission.Paths{}, rules.TraceNone, ViewChanged),
		surface("verdict alone", admission.Paths{}, rules.TraceNone, ViewNone))
}

func resultOf(t *testing.T, d *Definition, c *writecase.Case, trace rules.TraceMode, view View) writecase.Result {
	t.Helper()
	w, object := writeOf(t, c)
	validation := fieldValidations[c.FieldValidation]
	admit := AdmitOptions{
		FieldValidation: validation, CompleteMetadata: c.CompleteMetadata, WithStatus: c.WithStatus, Trace: trace, View: view,
	}
	validate := func() writecase.Result {
		return verdictLines(d.Validate(t.Context(), w, ValidateOptions{
			FieldValidation: validation, CompleteMetadata: c.CompleteMetadata, AsGiven: c.AsGiven, WithStatus: c.WithStatus,
			Trace: trace, Brief: view == ViewNone,
		}))
	}
	transform := TransformOptions{Version: c.Version, View: view}
	switch c.Call {
	case "Validate":
		return validate()
	case "Admit":
		r := verdictLines(d.Admit(t.Context(), w, admit))
		r.AddOther("Validate", validate())
		return r
	case "Decode":
		return verdictLines(d.Decode(t.Context(), w, admit))
	case "Finish":
		return verdictLines(d.admit(t.Context(), w, &admit, admission.StageFinish))
	case "Prune":
		return transformedLines(d.Prune(t.Context(), object, transform))
	case "Default":
		return transformedLines(d.Default(t.Context(), object, transform))
	case "Read":
		return transformedLines(d.Read(t.Context(), object, ReadOptions{
			Version: c.Version, TargetVersion: c.TargetVersion, View: view,
		}))
	case "Convert":
		return transformedLines(d.Convert(t.Context(), object, c.TargetVersion, transform))
	}
	t.Fatalf("unknown call %s", c.Call)
	return nil
}

var fieldValidations = map[string]FieldValidation{
	"": FieldValidationWarn, "Warn": FieldValidationWarn, "Ignore": FieldValidationIgnore, "Strict": FieldValidationStrict,
}

// writeOf returns the write of a case, and its document.
func writeOf(t *testing.T, c *writecase.Case) (Write, Document) {
	t.Helper()
	document := func(text string, yaml bool) Document {
		if yaml {
			return YAML([]byte(text))
		}
		return JSON([]byte(text))
	}
	operation, text := c.Operation()
	object, old := document(text, c.YAML), Document{}
	if c.Old != nil {
		old = document(*c.Old, c.OldYAML)
	}
	switch operation {
	case "create":
		return Create{
			Object: object, Version: c.Version, Namespace: c.Namespace, Name: c.ObjectName, GeneratedName: c.GeneratedName,
		}, object
	case "update":
		return Update{
			Object: object, Old: old, OldDecoded: c.OldDecoded, Subresource: c.Subresource, Version: c.Version,
			Namespace: c.Namespace, Name: c.ObjectName,
		}, object
	}
	p := Patch{
		Type: MergePatch, Body: object, Old: old, OldDecoded: c.OldDecoded, Subresource: c.Subresource, Version: c.Version,
		Namespace: c.Namespace, Name: c.ObjectName,
	}
	if operation == "jsonPatch" {
		p.Type = JSONPatch
	}
	return p, object
}

func verdictLines(v *Verdict, err error) (r writecase.Result) {
	if err != nil {
		return errorLines(err, false)
	}
	if v.Allowed != (v.Rejection == nil) {
		r.Add("inconsistent", fmt.Sprint(v.Allowed, v.Rejection))
	}
	addRejection(&r, v.Rejection)
	addViolations(&r, "violation", v.Violations)
	addViolations(&r, "next", v.Next)
	addViolations(&r, "ratcheted", v.Ratcheted)
	addWarnings(&r, v.Warnings)
	addChanges(&r, v.Pruned, v.Defaulted)
	r.Add("object", string(v.Object))
	r.Add("stored", string(v.StoredObject))
	r.Add("old", string(v.OldObject))
	r.Add("status", string(v.Status))
	if v.Deletes {
		r.Add("deletes", "true")
	}
	if v.Unchanged {
		r.Add("unchanged", "true")
	}
	return r
}

func transformedLines(v *Transformed, err error) (r writecase.Result) {
	if err != nil {
		return errorLines(err, true)
	}
	r.Add("verdict", "transformed")
	addWarnings(&r, v.Warnings)
	addChanges(&r, v.Pruned, v.Defaulted)
	r.Add("object", string(v.Object))
	if !v.Changed {
		r.Add("unchanged", "true")
	}
	return r
}

// errorLines returns the lines of an error. If a call has no other result for a rejected object, it is a rejection.
func errorLines(err error, rejections bool) (r writecase.Result) {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		r.Add("error", err.Error())
	case rejections && e.Rejection != nil:
		addRejection(&r, e.Rejection)
		addViolations(&r, "violation", e.Violations)
	default:
		r.Add("error", string(e.Reason)+" "+e.Message)
	}
	return r
}

func addRejection(r *writecase.Result, rejection *Rejection) {
	if rejection == nil {
		rejection = &Rejection{}
	}
	r.AddRejection(rejection.Code, rejection.Reason, rejection.Message, rejection.Cause)
}

func addViolations(r *writecase.Result, key string, list []Violation) {
	for _, v := range list {
		*r = append(*r, writecase.Line{
			Key: key, Position: place(v.Position), Step: string(v.Step), Type: v.Type, Pointer: v.Pointer, Schema: v.SchemaPointer,
			Text: v.Error(), Hint: hintText(v.Hint),
		})
	}
}

func addWarnings(r *writecase.Result, list []Warning) {
	for _, w := range list {
		*r = append(*r, writecase.Line{
			Key: "warning", Position: place(w.Position), Type: w.Type, Pointer: w.Pointer, Text: w.Text, Hint: hintText(w.Hint),
		})
	}
}

func addChanges(r *writecase.Result, pruned, defaulted []FieldChange) {
	for _, c := range pruned {
		*r = append(*r, writecase.Line{
			Key: "pruned", Position: place(c.Position), Pointer: c.Pointer, Text: c.Path + " " + string(c.Value), Hint: hintText(c.Hint),
		})
	}
	for _, c := range defaulted {
		*r = append(*r, writecase.Line{Key: "defaulted", Pointer: c.Pointer, Text: c.Path + " " + string(c.Value)})
	}
}

func hintText(h *Hint) string {
	if h == nil {
		return ""
	}
	return h.Text
}
