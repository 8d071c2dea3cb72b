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

// definition returns the compiled CRD of an item, whose object is o.
func (r *resolver) definition(ctx context.Context, item *crdevalv1.Item, o engine.Document) (*engine.Definition, error) {
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
func (r *resolver) guess(item *crdevalv1.Item, o engine.Document) *engine.Definition {
	if r.found == nil || len(r.head) == 0 || item.GetCrd() != "" || item.GetRevision() != r.last.revision || !bytes.HasPrefix(o.JSON, r.head) {
		return nil
	}
	return r.found
}

// validate answers the verdict on one item.
func (r *resolver) validate(ctx context.Context, m *crdevalv1.Item, o engine.EvaluationOptions) (v *engine.Verdict, err error) {
	item, err := checked(m)
	if err != nil {
		return nil, err
	}
	guessed := r.guess(m, item.Object)
	if guessed != nil {
		if v, err = guessed.Validate(ctx, item, o); err == nil && v.Allowed {
			return v, nil
		}
	}
	d, unknown := r.definition(ctx, m, item.Object)
	switch {
	case unknown != nil:
		return nil, unknown
	case d == guessed:
		return v, err
	}
	return d.Validate(ctx, item, o)
}

// prepare checks one item and turns it into the engine's, with the CRD that judges it.
func (r *resolver) prepare(ctx context.Context, m *crdevalv1.Item) (*engine.Definition, engine.Item, error) {
	item, err := checked(m)
	switch {
	case err != nil:
		return nil, item, err
	case m.GetOldObject() != nil:
		return nil, item, invalid("old_object", "old_object is for Validate alone: leave it out")
	case item.Subresource != "":
		return nil, item, invalid("subresource", "subresource is for Validate alone: leave it out")
	}
	d, err := r.definition(ctx, m, item.Object)
	return d, item, err
}

// checked is an item as the engine takes it.
func checked(m *crdevalv1.Item) (engine.Item, error) {
	item := engine.Item{
		Version: m.GetVersion(), Object: given(m.GetObject()), OldObject: given(m.GetOldObject()),
		Subresource: m.GetSubresource(), Namespace: m.GetNamespace(), Name: m.GetName(),
	}
	switch {
	case m.GetPatch() != nil:
		return item, unavailable(crdevalv1.Feature_FEATURE_PATCH, "patch")
	case item.Subresource == "scale":
		return item, unavailable(crdevalv1.Feature_FEATURE_SCALE, "subresource scale")
	case item.Subresource != "" && item.Subresource != "status":
		return item, invalid("subresource", "subresource is %q: it is empty, status or scale", bounded(item.Subresource, 256))
	case item.Object.Absent():
		return item, invalid("object", "object is required")
	case m.GetOldObject() != nil && item.OldObject.Absent():
		return item, invalid("old_object", "old_object is there and empty: give it JSON or YAML, or leave it out and the object is created")
	case item.Subresource != "" && item.OldObject.Absent():
		return item, invalid("old_object", "old_object is required with subresource %s: that is always an update", item.Subresource)
	}
	return item, nil
}
