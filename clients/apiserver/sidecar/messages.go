package sidecar

import (
	"cmp"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func jsonDocument(text []byte) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: text}}
}

// document returns nil for an absent document.
func document(d engine.Document) *crdevalv1.Document {
	switch {
	case d.Absent():
		return nil
	case d.YAML != nil:
		return &crdevalv1.Document{Content: &crdevalv1.Document_RawYaml{RawYaml: d.YAML}}
	}
	return jsonDocument(d.JSON)
}

// evaluationContext returns the context of a call.
func (d *definition) evaluationContext(at *registration, o *crdevalv1.EvaluationOptions) *crdevalv1.EvaluationContext {
	return &crdevalv1.EvaluationContext{Catalog: d.catalog, AtLeast: at.token, Options: o}
}

func evaluationOptions(o kubeserver.WriteOptions) *crdevalv1.EvaluationOptions {
	return &crdevalv1.EvaluationOptions{
		FieldValidation: fieldValidations[o.FieldValidation], View: views[o.View], WithStatus: o.WithStatus,
	}
}

func creation(w engine.Create) *crdevalv1.Create {
	return &crdevalv1.Create{Object: document(w.Object), GeneratedName: w.GeneratedName}
}

func update(w engine.Update) *crdevalv1.Update {
	return &crdevalv1.Update{
		Object: document(w.Object), OldObject: document(w.Old), OldObjectDecoded: w.OldDecoded, Subresource: w.Subresource,
	}
}

// objects returns the message of an object that is not written.
func (d *definition) objects(version string, object engine.Document, at *registration) []*crdevalv1.ObjectItem {
	return []*crdevalv1.ObjectItem{{Crd: d.name, Revision: at.revision, Version: version, Object: document(object)}}
}

var fieldValidations = map[engine.FieldValidation]crdevalv1.FieldValidation{
	engine.FieldValidationWarn:   crdevalv1.FieldValidation_FIELD_VALIDATION_WARN,
	engine.FieldValidationIgnore: crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE,
	engine.FieldValidationStrict: crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT,
}

var views = map[engine.View]crdevalv1.ObjectView{
	engine.ViewChanged: crdevalv1.ObjectView_OBJECT_VIEW_CHANGED, engine.ViewNone: crdevalv1.ObjectView_OBJECT_VIEW_NONE,
}

// verdict converts a verdict, without violations and changes. It returns nil for nil.
func verdict(v *crdevalv1.Verdict) *engine.Verdict {
	if v == nil {
		return nil
	}
	return &engine.Verdict{
		Allowed: v.GetAllowed(), Rejection: rejection(v.GetRejection()), Status: v.GetRejection().GetStatus().GetJson(),
		Warnings: warnings(v.GetWarnings()), Object: v.GetObject().GetJson(),
		StoredObject: v.GetStoredObject().GetJson(), OldObject: v.GetOldObject().GetJson(), Unchanged: v.GetUnchanged(),
		Deletes: v.GetDeletes(), Revision: v.GetRevision(),
	}
}

// warnings converts warnings, without positions and hints.
func warnings(list []*crdevalv1.Warning) (all []engine.Warning) {
	for _, w := range list {
		all = append(all, engine.Warning{Type: w.GetType(), Text: w.GetText(), Field: w.GetField(), Pointer: w.GetPointer()})
	}
	return all
}

// rejection returns nil for nil.
func rejection(r *crdevalv1.Rejection) *engine.Rejection {
	if r == nil {
		return nil
	}
	own := &engine.Rejection{Code: r.GetCode(), Reason: r.GetReason(), Message: r.GetMessage(), Cause: cmp.Or(r.GetCause(), r.GetMessage())}
	var s metav1.Status
	if json.Unmarshal(r.GetStatus().GetJson(), &s) == nil { // absent unless it was requested
		own.Details = s.Details
	}
	return own
}

// rejected returns the error of the engine for an object that an API server rejects, nil for no rejection.
func rejected(r *crdevalv1.Rejection) error {
	if r == nil {
		return nil
	}
	return &engine.Error{Reason: engine.ReasonObjectRejected, Message: r.GetMessage(), Rejection: rejection(r)}
}
