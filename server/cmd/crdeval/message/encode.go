// Package message converts values of the engine to messages of the API (encode.go), and back (decode.go).
package message

import (
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// ValidateOptions returns the message of the options of Validate.
func ValidateOptions(o engine.ValidateOptions) *crdevalv1.EvaluationOptions {
	view := engine.ViewFull
	if o.Brief {
		view = engine.ViewNone
	}
	return AdmitOptions(engine.AdmitOptions{
		FieldValidation: o.FieldValidation, CompleteMetadata: o.CompleteMetadata, View: view, Trace: o.Trace,
	})
}

// AdmitOptions returns the message of the options of Admit.
func AdmitOptions(o engine.AdmitOptions) *crdevalv1.EvaluationOptions {
	return &crdevalv1.EvaluationOptions{
		FieldValidation: FieldValidation(o.FieldValidation), CompleteMetadata: o.CompleteMetadata,
		View: views[o.View], Trace: traceModes[o.Trace],
	}
}

// FieldValidation returns the message of a handling of unknown and duplicate fields.
func FieldValidation(v engine.FieldValidation) crdevalv1.FieldValidation { return fieldValidations[v] }

var fieldValidations = map[engine.FieldValidation]crdevalv1.FieldValidation{
	engine.FieldValidationStrict: crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT,
	engine.FieldValidationWarn:   crdevalv1.FieldValidation_FIELD_VALIDATION_WARN,
	engine.FieldValidationIgnore: crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE,
}

var views = map[engine.View]crdevalv1.ObjectView{
	engine.ViewFull: crdevalv1.ObjectView_OBJECT_VIEW_FULL, engine.ViewChanged: crdevalv1.ObjectView_OBJECT_VIEW_CHANGED,
	engine.ViewNone: crdevalv1.ObjectView_OBJECT_VIEW_NONE,
}

var traceModes = map[rules.TraceMode]crdevalv1.TraceMode{
	rules.TraceNone: crdevalv1.TraceMode_TRACE_MODE_NONE, rules.TraceFailed: crdevalv1.TraceMode_TRACE_MODE_FAILED,
	rules.TraceAll: crdevalv1.TraceMode_TRACE_MODE_ALL,
}

// Document returns the message of a document.
func Document(d engine.Document) *crdevalv1.Document {
	if d.YAML != nil {
		return &crdevalv1.Document{Content: &crdevalv1.Document_RawYaml{RawYaml: d.YAML}}
	}
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: d.JSON}}
}

// Write returns the message of a write of an object of a CRD. Without a name, the service finds the CRD.
func Write(crd string, w engine.Write) *crdevalv1.WriteItem {
	m := &crdevalv1.WriteItem{Crd: crd}
	switch w := w.(type) {
	case engine.Create:
		m.Namespace = w.Namespace
		m.Write = &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: Document(w.Object)}}
	case engine.Update:
		m.Namespace = w.Namespace
		m.Write = &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{
			Object: Document(w.Object), OldObject: Document(w.Old), Subresource: w.Subresource,
		}}
	case engine.Patch:
		m.Namespace = w.Namespace
		m.Write = &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{
			Type: patchTypes[w.Type], Patch: Document(w.Body), OldObject: Document(w.Old), Subresource: w.Subresource,
		}}
	}
	return m
}

var patchTypes = map[engine.PatchType]crdevalv1.PatchType{
	engine.MergePatch: crdevalv1.PatchType_PATCH_TYPE_MERGE, engine.JSONPatch: crdevalv1.PatchType_PATCH_TYPE_JSON,
}
