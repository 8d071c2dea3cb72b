package crdeval

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Write is one write of an object, as a client sends it to an API server. Of New, MergePatch and JSONPatch exactly one is given.
type Write struct {
	// Old is the object as it stands in storage, at any version that the CRD lists. Nil: the write creates the object.
	Old []byte
	// New is what is written: the object, or of a write to the subresource scale an autoscaling/v1 Scale. JSON or YAML.
	New []byte
	// MergePatch (RFC 7386) or JSONPatch (RFC 6902) is applied to Old instead.
	MergePatch, JSONPatch []byte
	// Subresource is "", "status" or "scale".
	Subresource string
}

// Item is the write as one of the items of a call, for what a Write does not say: an endpoint's version, a namespace, a revision.
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

// AdmitOptions say how Admit evaluates. The zero value is what an API server does.
type AdmitOptions struct {
	// Evaluation are the options of every evaluation. Nil: the server's defaults.
	Evaluation *crdevalv1.EvaluationOptions
	// Stage is for servers with a mutating admission of their own. Default: the whole write.
	Stage crdevalv1.AdmissionStage
	// Include asks for table rows, selectable fields and scales in Verdict.Presented. Nil: for nothing.
	Include *crdevalv1.PresentationOptions
}

// Admit takes each write the whole way that an API server takes it, up to what it answers, Result.Object, and what it stores, Result.StoredObject. Nothing is stored.
// Results are aligned with the writes, which are sent in as many calls as it takes; when one of these fails, so does the whole.
func (c *Client) Admit(ctx context.Context, writes ...Write) ([]Result, error) {
	items := make([]*crdevalv1.EvaluationItem, len(writes))
	for i, w := range writes {
		items[i] = w.Item()
	}
	return c.AdmitItems(ctx, items, AdmitOptions{})
}

// AdmitItems is Admit for items that say more than writes, and with options.
func (c *Client) AdmitItems(ctx context.Context, items []*crdevalv1.EvaluationItem, o AdmitOptions) ([]Result, error) {
	evaluation := o.Evaluation
	call := func(items []*crdevalv1.EvaluationItem) ([]*crdevalv1.VerdictResult, error) {
		r, err := c.Evaluation().Admit(ctx, &crdevalv1.AdmitRequest{
			Catalog: c.catalog, Items: items, Options: evaluation, AtLeast: c.atLeast(), Crds: c.overlay, Stage: o.Stage, Include: o.Include,
		})
		return r.GetResults(), err
	}
	answers, err := inBatches(ctx, c, "admit", items, call)
	return results(answers), err
}

// Object is what a client would be answered, as JSON: nil if the write was refused or not evaluated, and where the view leaves it out.
func (r Result) Object() []byte { return r.Verdict.GetObject().GetJson() }

// StoredObject is what would be given to storage, as JSON: Object, unless storage has another version or other bytes of it.
func (r Result) StoredObject() []byte {
	if stored := r.Verdict.GetStoredObject(); stored != nil {
		return stored.GetJson()
	}
	return r.Object()
}
