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
	ctx context.Context, m *crdevalv1.EvaluationItem, o *options, f judgement,
) (v verdict, err error) {
	w, typed, err := writeOf(r.origins, m)
	if err != nil {
		return verdict{}, err
	}
	guessed := r.guess(ctx, m, typed)
	if guessed != nil {
		v, err = f(ctx, guessed, w, o)
		if lacksMemory(err) || ctx.Err() != nil || err == nil && v.Allowed {
			return v, err
		}
	}
	d, unknown := r.definition(ctx, m, typed)
	switch {
	case unknown != nil:
		return verdict{}, unknown
	case d == guessed:
		return v, err
	}
	return f(ctx, d, w, o)
}

// prepare returns the CRD and the object for a call other than Validate and Admit.
func (r *resolver) prepare(ctx context.Context, m *crdevalv1.EvaluationItem) (*engine.Definition, engine.Document, error) {
	_, object, err := writeOf(r.origins, m)
	if err != nil {
		return nil, object, err
	}
	if name := beyondBody(m); name != "" {
		return nil, object, invalid(name, "%s is for Validate and Admit only", name)
	}
	d, err := r.definition(ctx, m, object)
	return d, object, err
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

// writeOf checks an item and returns its write, and the document with the kind of the custom resource.
func writeOf(origins Origins, m *crdevalv1.EvaluationItem) (w engine.Write, typed engine.Document, err error) {
	object, err := given(origins, m.GetObject())
	if err != nil {
		return nil, typed, err
	}
	old, err := given(origins, m.GetOldObject())
	if err != nil {
		return nil, typed, err
	}
	p := m.GetPatch()
	switch created, subresource := old.Absent(), m.GetSubresource(); {
	case p != nil && m.GetObject() != nil:
		err = invalid("object", "object and patch exclude each other: the patch applies to old_object")
	case subresource != "" && subresource != "status" && subresource != "scale":
		err = invalid("subresource", "subresource is %s: it must be empty, status or scale", quoted(subresource))
	case object.Absent() && p == nil:
		err = invalid("object", "object is required, or a patch of old_object")
	case created && m.GetOldObject() != nil:
		err = invalid("old_object", "old_object is empty: set it to JSON or YAML, or leave it out to create the object")
	case created && p != nil:
		err = invalid("old_object", "old_object is required with patch: the patch applies to it")
	case created && subresource != "":
		err = invalid("old_object", "old_object is required with subresource %s: such a write is an update", subresource)
	case created && m.GetOldObjectDecoded():
		err = invalid("old_object_decoded", "old_object_decoded is about old_object, which is not set: leave it out to create the object")
	case !created && m.GetGeneratedName() != "":
		err = invalid("generated_name", "generated_name and old_object exclude each other: only a creation generates a name")
	case p != nil:
		w, err = patchOf(origins, m, old)
		return w, old, err
	case created:
		return engine.Create{
			Object: object, Version: m.GetVersion(), Namespace: m.GetNamespace(), Name: m.GetName(), GeneratedName: m.GetGeneratedName(),
		}, object, nil
	default:
		if typed = object; subresource == "scale" {
			typed = old
		}
		return engine.Update{
			Object: object, Old: old, OldDecoded: m.GetOldObjectDecoded(), Subresource: subresource, Version: m.GetVersion(),
			Namespace: m.GetNamespace(), Name: m.GetName(),
		}, typed, nil
	}
	return nil, typed, err
}

func patchOf(origins Origins, m *crdevalv1.EvaluationItem, old engine.Document) (engine.Write, error) {
	w := engine.Patch{
		Old: old, OldDecoded: m.GetOldObjectDecoded(), Subresource: m.GetSubresource(), Version: m.GetVersion(),
		Namespace: m.GetNamespace(), Name: m.GetName(),
	}
	var err error
	if w.Body, err = given(origins, m.GetPatch().GetPatch()); err != nil {
		return nil, err
	}
	switch t := m.GetPatch().GetType(); t {
	case crdevalv1.PatchType_PATCH_TYPE_MERGE:
		w.Type = engine.MergePatch
	case crdevalv1.PatchType_PATCH_TYPE_JSON:
		w.Type = engine.JSONPatch
	default:
		return nil, invalid("patch.type", "patch.type: the enum has no value %d", t)
	}
	if w.Body.Absent() {
		return nil, invalid("patch.patch", "patch.patch is required: the patch as JSON or YAML")
	}
	return w, nil
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
	for _, version := range []string{item.GetVersion(), b.options.targetVersion, own} {
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
