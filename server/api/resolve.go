package api

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// A resolver finds the CRDs of items in a view. It remembers them, and is not safe for concurrent use.
type resolver struct {
	view    registry.View
	limits  engine.Limits
	origins Origins // of the documents of items, or nil
	last    target
	found   *engine.Definition            // of last; nil: none yet
	head    []byte                        // the beginning of the object of last; nil if that does not name its kind
	known   map[target]*engine.Definition // without last
}

// target names a CRD, either by its name or by the apiVersion and the kind of an object.
type target struct{ crd, apiVersion, kind, revision string }

// definition returns the CRD that an item names, or else that of the object o.
func (r *resolver) definition(
	ctx context.Context, item *crdevalv1.EvaluationItem, o engine.Document,
) (d *engine.Definition, err error) {
	t := target{crd: item.GetCrd(), revision: item.GetRevision()}
	if t.crd == "" {
		if t.apiVersion, t.kind, err = engine.TypeMetaOf(o, r.limits); err != nil {
			return nil, err
		}
		if t.apiVersion == "" || t.kind == "" {
			return nil, &Error{
				Reason: crdevalv1.ErrorReason_ERROR_REASON_OBJECT_UNREADABLE,
				Message: "the CRD is unknown: the object has no apiVersion and kind, and the item has no crd; " +
					"set crd to evaluate the object as a request for that CRD",
				Metadata: map[string]string{"field": "crd"},
			}
		}
	}
	return r.find(ctx, t, o)
}

// find returns the CRD of a target, which is that of the object o.
func (r *resolver) find(ctx context.Context, t target, o engine.Document) (d *engine.Definition, err error) {
	if r.found != nil && r.last == t {
		return r.found, nil
	}
	d, ok := r.known[t]
	if !ok {
		if d, err = r.lookUp(ctx, t); err != nil {
			return nil, err
		}
	}
	if r.found != nil { // most calls have one target, and need no map
		if r.known == nil {
			r.known = map[target]*engine.Definition{}
		}
		r.known[r.last] = r.found
	}
	r.last, r.found, r.head = t, d, nil
	if t.crd == "" {
		r.head = typeMetaHead(o)
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

// guess returns the CRD that the beginning of an object names, or nil. A guess is right only if the verdict allows the
// object: apiVersion and kind may occur again further down. It saves a search through the whole text.
func (r *resolver) guess(ctx context.Context, item *crdevalv1.EvaluationItem, o engine.Document) *engine.Definition {
	if item.GetCrd() != "" {
		return nil
	}
	t := target{revision: item.GetRevision()}
	if r.found != nil && len(r.head) > 0 && t.revision == r.last.revision && bytes.HasPrefix(o.JSON, r.head) {
		return r.found
	}
	head := typeMetaHead(o)
	if len(head) == 0 {
		return nil
	}
	t.apiVersion, t.kind, _ = value.PeekTypeMeta(append(bytes.Clone(head), '}'))
	d, err := r.find(ctx, t, o)
	if err != nil {
		return nil
	}
	return d
}

// judge returns the verdict on one item.
func (r *resolver) judge(
	ctx context.Context, m *crdevalv1.EvaluationItem, o engine.EvaluationOptions, f judgement,
) (v *engine.Verdict, err error) {
	item, err := engineItem(r.origins, m)
	if err != nil {
		return nil, err
	}
	typed := item.Object // the document with the kind of the custom resource
	if item.Patch != nil || item.Subresource == "scale" {
		typed = item.OldObject
	}
	guessed := r.guess(ctx, m, typed)
	if guessed != nil {
		v, err = f(guessed, ctx, item, o)
		if lacksMemory(err) || ctx.Err() != nil || err == nil && v.Allowed {
			return v, err
		}
	}
	d, unknown := r.definition(ctx, m, typed)
	switch {
	case unknown != nil:
		return nil, unknown
	case d == guessed:
		return v, err
	}
	return f(d, ctx, item, o)
}

// prepare returns the CRD and the item for a call other than Validate and Admit.
func (r *resolver) prepare(ctx context.Context, m *crdevalv1.EvaluationItem) (*engine.Definition, engine.Item, error) {
	item, err := engineItem(r.origins, m)
	if err != nil {
		return nil, item, err
	}
	if name := beyondBody(m); name != "" {
		return nil, item, invalid(name, "%s is for Validate and Admit only", name)
	}
	d, err := r.definition(ctx, m, item.Object)
	return d, item, err
}

// beyondBody returns the first field of an item that only a whole write has, or "".
func beyondBody(m *crdevalv1.EvaluationItem) string {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"old_object", m.GetOldObject() != nil}, {"subresource", m.GetSubresource() != ""}, {"patch", m.GetPatch() != nil},
		{"generated_name", m.GetGeneratedName() != ""},
	} {
		if f.set {
			return f.name
		}
	}
	return ""
}

// engineItem checks and converts an item.
func engineItem(origins Origins, m *crdevalv1.EvaluationItem) (item engine.Item, err error) {
	item = engine.Item{
		Version: m.GetVersion(), Subresource: m.GetSubresource(), Namespace: m.GetNamespace(), Name: m.GetName(),
		GeneratedName: m.GetGeneratedName(), OldDecoded: m.GetOldObjectDecoded(),
	}
	if item.Object, err = given(origins, m.GetObject()); err != nil {
		return item, err
	}
	if item.OldObject, err = given(origins, m.GetOldObject()); err != nil {
		return item, err
	}
	if p := m.GetPatch(); p != nil {
		item.Patch = &engine.Patch{}
		if item.Patch.Document, err = given(origins, p.GetPatch()); err != nil {
			return item, err
		}
		switch p.GetType() {
		case crdevalv1.PatchType_PATCH_TYPE_MERGE:
			item.Patch.Type = engine.MergePatch
		case crdevalv1.PatchType_PATCH_TYPE_JSON:
			item.Patch.Type = engine.JSONPatch
		default:
			return item, invalid("patch.type", "patch.type: the enum has no value %d", p.GetType())
		}
		switch {
		case item.Patch.Document.Absent():
			return item, invalid("patch.patch", "patch.patch is required: the patch as JSON or YAML")
		case m.GetObject() != nil:
			return item, invalid("object", "object and patch exclude each other: the patch applies to old_object")
		}
	}
	switch created := item.OldObject.Absent(); {
	case item.Subresource != "" && item.Subresource != "status" && item.Subresource != "scale":
		return item, invalid("subresource", "subresource is %s: it must be empty, status or scale", quoted(item.Subresource))
	case item.Object.Absent() && item.Patch == nil:
		return item, invalid("object", "object is required, or a patch of old_object")
	case created && m.GetOldObject() != nil:
		return item, invalid("old_object", "old_object is empty: set it to JSON or YAML, or leave it out to create the object")
	case created && item.Patch != nil:
		return item, invalid("old_object", "old_object is required with patch: the patch applies to it")
	case created && item.Subresource != "":
		return item, invalid("old_object", "old_object is required with subresource %s: such a write is an update", item.Subresource)
	case created && item.OldDecoded:
		return item, invalid("old_object_decoded", "old_object_decoded is about old_object, which is not set: leave it out to create the object")
	case !created && item.GeneratedName != "":
		return item, invalid("generated_name", "generated_name and old_object exclude each other: only a creation generates a name")
	}
	return item, nil
}

// addVersion adds to an error about a version the catalog, the CRD and the version. r has evaluated the item.
func (b *batch) addVersion(r *resolver, item *crdevalv1.EvaluationItem, err error) error {
	e, ok := isAboutVersion(err)
	if !ok || r.found == nil {
		return err
	}
	p := engineProblem(e)
	p.Metadata["catalog"], p.Metadata["crd"] = b.catalog, r.found.Name()
	_, own, _ := strings.Cut(r.last.apiVersion, "/")
	for _, version := range []string{item.GetVersion(), b.options.TargetVersion, own} {
		if version != "" && !hasVersion(r.found, version, e.Reason == engine.ReasonVersionNotServed) {
			p.Metadata["version"] = version
			break
		}
	}
	return p
}

// hasVersion reports whether a CRD has a version and, if served is set, serves it.
func hasVersion(d *engine.Definition, version string, served bool) bool {
	return slices.ContainsFunc(d.Versions(), func(v engine.VersionInfo) bool {
		return v.Name == version && (v.Served || !served)
	})
}

// typeMetaHead returns the beginning of a JSON document up to its apiVersion and kind if they are its first members, or
// nil. Documents with the same head have the same type, unless one repeats a member, which no allowed object does.
func typeMetaHead(o engine.Document) []byte {
	if o.YAML != nil {
		return nil
	}
	return o.JSON[:value.TypeMetaHead(o.JSON)]
}
