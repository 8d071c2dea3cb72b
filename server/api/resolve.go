package api

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// A resolver finds the CRDs of items in a view. It remembers them, and is not safe for concurrent use.
type resolver struct {
	view    registry.View
	limits  engine.Limits
	origins call.Origins // of the documents of items, or nil
	last    target
	found   *engine.Definition            // of last; nil: none yet
	head    []byte                        // the beginning of the object of last; nil if that does not name its kind
	known   map[target]*engine.Definition // without last
}

// target names a CRD, either by its name or by the apiVersion and the kind of an object.
type target struct{ crd, apiVersion, kind, revision string }

// definition returns the CRD that an item names, or else that of the object o.
func (r *resolver) definition(
	ctx context.Context, item item, o engine.Document,
) (d *engine.Definition, err error) {
	t := target{crd: item.GetCrd(), revision: item.GetRevision()}
	if t.crd == "" {
		if t.apiVersion, t.kind, err = o.TypeMeta(r.limits); err != nil {
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
		r.head, _, _ = o.TypeMetaHead()
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
func (r *resolver) guess(ctx context.Context, item item, o engine.Document) *engine.Definition {
	if item.GetCrd() != "" {
		return nil
	}
	t := target{revision: item.GetRevision()}
	if r.found != nil && len(r.head) > 0 && t.revision == r.last.revision && bytes.HasPrefix(o.JSON, r.head) {
		return r.found
	}
	head, _, _ := o.TypeMetaHead()
	if len(head) == 0 {
		return nil
	}
	_, t.apiVersion, t.kind = engine.JSON(bytes.Clone(head)).TypeMetaHead() // outlives the item
	d, err := r.find(ctx, t, o)
	if err != nil {
		return nil
	}
	return d
}

// judge returns the verdict on one item, which f returns. typed is the document with the kind of the custom resource.
func (r *resolver) judge(
	ctx context.Context, m item, typed engine.Document, f func(context.Context, *engine.Definition) (*engine.Verdict, error),
) (v *engine.Verdict, err error) {
	guessed := r.guess(ctx, m, typed)
	if guessed != nil {
		v, err = f(ctx, guessed)
		if err == nil && v.Allowed || ctx.Err() != nil || lacksMemory(err) {
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
	return f(ctx, d)
}

// prepare returns the CRD and the object of an item.
func (r *resolver) prepare(ctx context.Context, m *crdevalv1.ObjectItem) (*engine.Definition, engine.Document, error) {
	object, err := givenRequired(r.origins, "object", m.GetObject())
	if err != nil {
		return nil, object, err
	}
	d, err := r.definition(ctx, m, object)
	return d, object, err
}

// bodyOf returns the body of a write: its object or its patch.
func bodyOf(m *crdevalv1.WriteItem) *crdevalv1.Document {
	switch o := m.GetWrite().(type) {
	case *crdevalv1.WriteItem_Create:
		return o.Create.GetObject()
	case *crdevalv1.WriteItem_Update:
		return o.Update.GetObject()
	case *crdevalv1.WriteItem_Patch:
		return o.Patch.GetPatch()
	}
	return nil
}

// writeOf returns the write of an item, and the document with the kind of the custom resource.
func writeOf(origins call.Origins, m *crdevalv1.WriteItem) (w engine.Write, typed engine.Document, err error) {
	switch o := m.GetWrite().(type) {
	case *crdevalv1.WriteItem_Create:
		c, err := creationOf(origins, m, o.Create)
		return c, c.Object, err
	case *crdevalv1.WriteItem_Update:
		u, typed, err := updateOf(origins, m, o.Update)
		return u, typed, err
	case *crdevalv1.WriteItem_Patch:
		w := engine.Patch{
			OldDecoded: o.Patch.GetOldObjectDecoded(), Subresource: o.Patch.GetSubresource(),
			Version: m.GetVersion(), Namespace: m.GetNamespace(), Name: m.GetName(),
		}
		w.Type, err = enumValue("patch.type", o.Patch.GetType(), patchTypes)
		if err == nil && w.Type == 0 {
			err = invalid("patch.type", "patch.type is required: PATCH_TYPE_MERGE or PATCH_TYPE_JSON")
		}
		if err != nil {
			return nil, typed, err
		}
		if w.Body, err = givenRequired(origins, "patch.patch", o.Patch.GetPatch()); err == nil {
			w.Old, err = givenRequired(origins, "patch.old_object", o.Patch.GetOldObject())
		}
		return w, w.Old, err
	}
	return nil, typed, invalid("write", "the item has no write: set create, update or patch")
}

// namedItem has the fields that all items of writes have.
type namedItem interface {
	item
	GetNamespace() string
	GetName() string
}

// creationOf returns the creation of an item.
func creationOf(origins call.Origins, m namedItem, c *crdevalv1.Create) (engine.Create, error) {
	object, err := givenRequired(origins, "create.object", c.GetObject())
	return engine.Create{
		Object: object, GeneratedName: c.GetGeneratedName(),
		Version: m.GetVersion(), Namespace: m.GetNamespace(), Name: m.GetName(),
	}, err
}

// updateOf returns the update of an item, and the document with the kind of the custom resource.
func updateOf(origins call.Origins, m namedItem, u *crdevalv1.Update) (w engine.Update, typed engine.Document, err error) {
	w = engine.Update{
		OldDecoded: u.GetOldObjectDecoded(), Subresource: u.GetSubresource(),
		Version: m.GetVersion(), Namespace: m.GetNamespace(), Name: m.GetName(),
	}
	if w.Object, err = givenRequired(origins, "update.object", u.GetObject()); err == nil {
		w.Old, err = givenRequired(origins, "update.old_object", u.GetOldObject())
	}
	if typed = w.Object; w.Subresource == "scale" {
		typed = w.Old
	}
	return w, typed, err
}

// givenRequired converts a Document of a request that must not be absent.
func givenRequired(origins call.Origins, field string, m *crdevalv1.Document) (engine.Document, error) {
	d, err := given(origins, m)
	if err == nil && d.Absent() {
		err = invalid(field, "%s is required, as JSON or YAML", field)
	}
	return d, err
}

// addVersion adds to an error about a version the catalog, the CRD and the version. r has evaluated the item.
func (b *batch) addVersion(r *resolver, item item, err error) error {
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
