package crdeval

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Write is one write of an object, as a client sends it to an API server. Exactly one of New, MergePatch and JSONPatch
// is set.
type Write struct {
	// Old is the stored object, at any version that the CRD lists. If it is nil, the write creates the object.
	Old []byte
	// New is the new object, JSON or YAML. For a write to the subresource scale it is an autoscaling/v1 Scale.
	New []byte
	// MergePatch (RFC 7386) or JSONPatch (RFC 6902) is applied to Old.
	MergePatch, JSONPatch []byte
	// Subresource is "", "status" or "scale".
	Subresource string
}

// Item returns the write as an item of a call. Callers can then set fields that Write lacks: the version of the
// endpoint, a namespace, a revision.
func (w Write) Item() *crdevalv1.EvaluationItem {
	item := &crdevalv1.EvaluationItem{Subresource: w.Subresource}
	if w.New != nil {
		item.Object = Document(w.New)
	}
	if w.Old != nil {
		item.OldObject = Document(w.Old)
	}
	switch {
	case w.MergePatch != nil:
		item.Patch = &crdevalv1.ObjectPatch{Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, Patch: Document(w.MergePatch)}
	case w.JSONPatch != nil:
		item.Patch = &crdevalv1.ObjectPatch{Type: crdevalv1.PatchType_PATCH_TYPE_JSON, Patch: Document(w.JSONPatch)}
	}
	return item
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
func (c *Client) Admit(ctx context.Context, writes ...Write) ([]Result, error) {
	return c.AdmitItems(ctx, mapped(writes, Write.Item), AdmitOptions{})
}

// AdmitItems is Admit for complete items, with options.
func (c *Client) AdmitItems(ctx context.Context, items []*crdevalv1.EvaluationItem, o AdmitOptions) ([]Result, error) {
	request := &crdevalv1.AdmitRequest{Options: o.Evaluation, Stage: o.Stage, Include: o.Include}
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
