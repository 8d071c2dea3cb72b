package api

import (
	"bytes"
	"context"
	"strings"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// resolver finds the CRDs of a batch's items, each once. A goroutine has its own; they agree, since the view does not change.
type resolver struct {
	view   registry.View
	limits engine.Limits
	last   target
	found  *engine.Definition // of last, nil if there is none yet
	head   []byte             // how the object of last begins, nil if that does not say what it is
	known  map[target]*engine.Definition
}

// target names a CRD: by its own name, or by apiVersion and kind of an object.
type target struct{ crd, apiVersion, kind, revision string }

// definition returns the compiled CRD of an item that names none by o: see tellingOf.
func (r *resolver) definition(ctx context.Context, item *crdevalv1.EvaluationItem, o engine.Document) (*engine.Definition, error) {
	t := target{crd: item.GetCrd(), revision: item.GetRevision()}
	if t.crd == "" {
		var err error
		if t.apiVersion, t.kind, err = engine.TypeMetaOf(o, r.limits); err != nil {
			return nil, err
		}
		if t.apiVersion == "" || t.kind == "" {
			return nil, &problem{
				reason:   crdevalv1.ErrorReason_ERROR_REASON_OBJECT_UNREADABLE,
				message:  "the object has no apiVersion and kind to find its CRD by, and the item names no crd: set crd, and it is judged as one posted there",
				metadata: map[string]string{"field": "crd"},
			}
		}
	}
	if r.found != nil && r.last == t {
		return r.found, nil
	}
	d, ok := r.known[t]
	if !ok {
		var err error
		if d, err = r.lookUp(ctx, t); err != nil {
			return nil, err
		}
		if r.known == nil {
			r.known = map[target]*engine.Definition{}
		}
		r.known[t] = d
	}
	r.last, r.found, r.head = t, d, nil
	if t.crd == "" {
		r.head = engine.TypeMetaHead(o)
	}
	return d, nil
}

func (r *resolver) lookUp(ctx context.Context, t target) (*engine.Definition, error) {
	if t.crd != "" {
		return r.view.Named(ctx, t.crd, t.revision)
	}
	group, _, hasGroup := strings.Cut(t.apiVersion, "/")
	if !hasGroup {
		group = ""
	}
	return r.view.OfKind(ctx, group, t.kind, t.revision)
}

// guess is the CRD of the item before, if this one's object begins as that one's did, else nil. Only a verdict that allows proves
// the guess right: apiVersion and kind may come again further down.
func (r *resolver) guess(item *crdevalv1.EvaluationItem, o engine.Document) *engine.Definition {
	if r.found == nil || len(r.head) == 0 || item.GetCrd() != "" || item.GetRevision() != r.last.revision || !bytes.HasPrefix(o.JSON, r.head) {
		return nil
	}
	return r.found
}

// judgement is a call of the engine that answers a verdict.
type judgement func(*engine.Definition, context.Context, engine.Item, engine.EvaluationOptions) (*engine.Verdict, error)

// judge answers the verdict on one item.
func (r *resolver) judge(ctx context.Context, m *crdevalv1.EvaluationItem, o engine.EvaluationOptions, f judgement) (v *engine.Verdict, err error) {
	item, err := checked(m)
	if err != nil {
		return nil, err
	}
	telling := tellingOf(&item)
	guessed := r.guess(m, telling)
	if guessed != nil {
		if v, err = f(guessed, ctx, item, o); err == nil && v.Allowed {
			return v, nil
		}
	}
	d, unknown := r.definition(ctx, m, telling)
	switch {
	case unknown != nil:
		return nil, unknown
	case d == guessed:
		return v, err
	}
	return f(d, ctx, item, o)
}

// tellingOf is the document of an item that says of which kind the custom resource is: the object, unless that is a patch or a Scale.
func tellingOf(item *engine.Item) engine.Document {
	if item.Patch != nil || item.Subresource == "scale" {
		return item.OldObject
	}
	return item.Object
}

// prepare checks one item and turns it into the engine's, with the CRD that judges it.
func (r *resolver) prepare(ctx context.Context, m *crdevalv1.EvaluationItem) (*engine.Definition, engine.Item, error) {
	item, err := checked(m)
	switch {
	case err != nil:
		return nil, item, err
	case m.GetOldObject() != nil:
		return nil, item, invalid("old_object", "old_object is for Validate and Admit alone: leave it out")
	case item.Subresource != "":
		return nil, item, invalid("subresource", "subresource is for Validate and Admit alone: leave it out")
	case item.Patch != nil:
		return nil, item, invalid("patch", "patch is for Validate and Admit alone: give the object")
	}
	d, err := r.definition(ctx, m, item.Object)
	return d, item, err
}

// checked is an item as the engine takes it.
func checked(m *crdevalv1.EvaluationItem) (engine.Item, error) {
	item := engine.Item{
		Version: m.GetVersion(), Object: given(m.GetObject()), OldObject: given(m.GetOldObject()),
		Subresource: m.GetSubresource(), Namespace: m.GetNamespace(), Name: m.GetName(),
	}
	if err := takePatch(m, &item); err != nil {
		return item, err
	}
	switch {
	case item.Subresource != "" && item.Subresource != "status" && item.Subresource != "scale":
		return item, invalid("subresource", "subresource is %q: it is empty, status or scale", bounded(item.Subresource, 256))
	case item.Object.Absent() && item.Patch == nil:
		return item, invalid("object", "object is required, or a patch of old_object")
	case m.GetOldObject() != nil && item.OldObject.Absent():
		return item, invalid("old_object", "old_object is there and empty: give it JSON or YAML, or leave it out and the object is created")
	case item.Patch != nil && item.OldObject.Absent():
		return item, invalid("old_object", "old_object is required with patch: it is what is patched")
	case item.Subresource != "" && item.OldObject.Absent():
		return item, invalid("old_object", "old_object is required with subresource %s: that is always an update", item.Subresource)
	}
	return item, nil
}

// takePatch reads the patch of an item, if it has one.
func takePatch(m *crdevalv1.EvaluationItem, item *engine.Item) error {
	p := m.GetPatch()
	if p == nil {
		return nil
	}
	item.Patch = &engine.Patch{Document: given(p.GetPatch())}
	switch t := p.GetType(); t {
	case crdevalv1.PatchType_PATCH_TYPE_MERGE:
		item.Patch.Type = engine.MergePatch
	case crdevalv1.PatchType_PATCH_TYPE_JSON:
		item.Patch.Type = engine.JSONPatch
	default:
		return invalid("patch.type", "patch.type is %s: it is PATCH_TYPE_MERGE or PATCH_TYPE_JSON", t)
	}
	switch {
	case item.Patch.Document.Absent():
		return invalid("patch.patch", "patch.patch is required: the patch as JSON or YAML")
	case m.GetObject() != nil:
		return invalid("object", "object and patch exclude each other: the object is old_object with the patch applied")
	}
	return nil
}
