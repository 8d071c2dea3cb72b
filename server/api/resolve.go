package api

import (
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
				crdevalv1.ErrorReason_ERROR_REASON_OBJECT_UNREADABLE,
				"the object has no apiVersion and kind to find its CRD by, and the item names no crd: set crd, and it is judged as one posted there",
				map[string]string{"field": "crd"},
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
	r.last, r.found = t, d
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

// prepare checks one item and turns it into the engine's, with the CRD that judges it.
func (r *resolver) prepare(ctx context.Context, m *crdevalv1.Item) (*engine.Definition, engine.Item, error) {
	item := engine.Item{
		Version: m.GetVersion(), Object: given(m.GetObject()), Subresource: m.GetSubresource(), Namespace: m.GetNamespace(), Name: m.GetName(),
	}
	switch {
	case m.GetOldObject() != nil:
		return nil, item, unavailable(crdevalv1.Feature_FEATURE_UPDATES, "old_object")
	case m.GetPatch() != nil:
		return nil, item, unavailable(crdevalv1.Feature_FEATURE_UPDATES, "patch")
	case item.Subresource == "status" || item.Subresource == "scale":
		return nil, item, unavailable(crdevalv1.Feature_FEATURE_UPDATES, "subresource "+item.Subresource)
	case item.Subresource != "":
		return nil, item, invalid("subresource", "subresource is %q: it is empty, status or scale", bounded(item.Subresource, 256))
	case item.Object.Absent():
		return nil, item, invalid("object", "object is required")
	}
	d, err := r.definition(ctx, m, item.Object)
	return d, item, err
}
