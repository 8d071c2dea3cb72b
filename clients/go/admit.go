package crdeval

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Create returns the creation of an object, JSON or YAML. Callers can set further fields of the item, as for all writes:
// the CRD, the version of the endpoint, a namespace, a revision.
func Create(object []byte) *crdevalv1.WriteItem {
	return &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: Document(object)}}}
}

// Update returns the update of a stored object, at any version that the CRD lists, to a new one.
func Update(old, object []byte) *crdevalv1.WriteItem { return UpdateSubresource("", old, object) }

// UpdateSubresource returns a write of the subresource status or scale of a stored object. For scale, object is an
// autoscaling/v1 Scale.
func UpdateSubresource(name string, old, object []byte) *crdevalv1.WriteItem {
	return &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{
		Object: Document(object), OldObject: Document(old), Subresource: name,
	}}}
}

// MergePatch returns the change of a stored object by a JSON merge patch (RFC 7386).
func MergePatch(old, patch []byte) *crdevalv1.WriteItem {
	return patchOf(crdevalv1.PatchType_PATCH_TYPE_MERGE, old, patch)
}

// JSONPatch returns the change of a stored object by a JSON patch (RFC 6902).
func JSONPatch(old, patch []byte) *crdevalv1.WriteItem {
	return patchOf(crdevalv1.PatchType_PATCH_TYPE_JSON, old, patch)
}

func patchOf(t crdevalv1.PatchType, old, patch []byte) *crdevalv1.WriteItem {
	return &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{
		Type: t, Patch: Document(patch), OldObject: Document(old),
	}}}
}

// AdmitOptions are the options of AdmitItems and AdmitStream. The zero value behaves as an API server.
type AdmitOptions struct {
	// Evaluation holds the evaluation options. Nil means the defaults of the server.
	Evaluation *crdevalv1.EvaluationOptions
	// Stage selects a part of the write path, for servers with their own mutating admission. Default: the whole path.
	Stage crdevalv1.AdmissionStage
	// Include requests table rows, selectable fields and scales in Verdict.Presentation. Nil requests nothing.
	Include *crdevalv1.PresentationOptions
}

// Admit runs each write through the whole write path of an API server. Result.Object is the object that the API server
// would return, Result.StoredObject the object that it would store. Nothing is stored.
//
// Result i belongs to write i. The writes are sent in as many calls as needed. If a call fails, Admit returns its
// error and the results of the earlier calls.
func (c *Client) Admit(ctx context.Context, writes ...*crdevalv1.WriteItem) ([]Result, error) {
	return c.AdmitItems(ctx, writes, AdmitOptions{})
}

// AdmitItems is Admit with options.
func (c *Client) AdmitItems(ctx context.Context, items []*crdevalv1.WriteItem, o AdmitOptions) ([]Result, error) {
	request := &crdevalv1.AdmitRequest{Context: contextOf(o.Evaluation), Stage: o.Stage, Include: o.Include}
	return inBatches(ctx, c, "admit", c.Evaluation().Admit, request, "items", items, resultOf)
}

// Object returns the object that a client would get, as JSON. It is nil if the write was rejected or not evaluated, and
// if the view leaves the object out.
func (r Result) Object() []byte { return r.Verdict.GetObject().GetJson() }

// StoredObject returns the object that would be stored, as JSON. It returns Object if both are the same JSON value.
func (r Result) StoredObject() []byte {
	if stored := r.Verdict.GetStoredObject(); stored != nil {
		return stored.GetJson()
	}
	return r.Object()
}
