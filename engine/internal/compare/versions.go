package compare

import (
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/internal/value"
)

type version = apiextensionsv1.CustomResourceDefinitionVersion

// index is where the version of that name stands, -1 if there is none.
func index(crd *CRD, name string) int {
	return slices.IndexFunc(crd.Spec.Versions, func(v version) bool { return v.Name == name })
}

// versionPath leads to a version, from the list of versions if it is not there.
func versionPath(i int) value.Path {
	at := path("spec", "versions")
	if i >= 0 {
		at = append(at, value.At(i))
	}
	return at
}

// versions compares those of the same name, in the order of priority of the new CRD, after those that are gone.
func (c *comparison) versions(old, new *CRD) {
	for _, i := range schema.Priority(old.Spec.Versions) {
		if v := &old.Spec.Versions[i]; index(new, v.Name) < 0 {
			c.removed(v, i)
		}
	}
	c.enter("", nil, nil)
	c.storage(old, new)
	lost := newLosses(old, new)
	for _, i := range schema.Priority(new.Spec.Versions) {
		if !c.step() {
			return
		}
		n := &new.Spec.Versions[i]
		at := index(old, n.Name)
		c.enter(n.Name, versionPath(at), versionPath(i))
		if at < 0 {
			c.tell(found{kind: VersionAdded, new: n.Name, message: "the version " + n.Name + " is new" + unserved(n)})
		} else {
			c.versionPair(old, new, &old.Spec.Versions[at], n)
		}
		c.enter(n.Name, versionPath(at), versionPath(i))
		c.lossy(lost, n)
	}
	c.enter("", nil, nil)
}

func unserved(v *version) string {
	if !v.Served {
		return ", but not served"
	}
	return ""
}

// enter says what is compared from now on: a version, "" for what all share.
func (c *comparison) enter(version string, oldBase, newBase value.Path) {
	c.version, c.oldBase, c.newBase, c.schema = version, oldBase, newBase, false
}

func (c *comparison) removed(v *version, i int) {
	c.enter(v.Name, versionPath(i), versionPath(-1))
	f := found{kind: VersionRemoved, old: v.Name, impact: Impact{Stored: Care}}
	if v.Served {
		f.impact.Writers, f.impact.Readers = Breaking, Breaking
		f.message = "the version " + v.Name + " is gone: whoever uses it gets 404"
	} else {
		f.message = "the version " + v.Name + " is gone, which was not served"
	}
	switch {
	case v.Storage || slices.Contains(c.Stored, v.Name):
		f.impact.Stored = Breaking
		f.message += "; objects are stored at it, and nothing can read them any more"
	default:
		f.message += "; make sure that no object is stored at it any more"
	}
	c.tell(f)
}

// storage says what follows where objects are written at another version from now on.
func (c *comparison) storage(old, new *CRD) {
	o, n := schema.Storage(old), schema.Storage(new)
	if o == nil || n == nil || o.Name == n.Name {
		return
	}
	i := index(new, n.Name)
	c.enter(n.Name, versionPath(index(old, n.Name)), versionPath(i))
	c.tell(found{kind: StorageMoved, impact: Impact{Stored: Care}, at: path("storage"), old: o.Name, new: n.Name, message: fmt.Sprintf(
		"objects are stored at %s instead of %s from their next write on; until all have been written once, both versions have to stay", n.Name, o.Name)})
	c.enter("", nil, nil)
}

// versionPair compares two versions of the same name.
func (c *comparison) versionPair(old, new *CRD, o, n *version) {
	switch {
	case o.Served && !n.Served:
		c.tell(found{kind: VersionUnserved, impact: Impact{Writers: Breaking, Readers: Breaking}, at: path("served"), old: true, new: false,
			message: "the version " + n.Name + " is not served any more: whoever uses it gets 404"})
	case !o.Served && n.Served:
		c.tell(found{kind: VersionServed, at: path("served"), old: false, new: true, message: "the version " + n.Name + " is served"})
	}
	c.deprecation(old, new, o, n)
	c.subresources(o, n)
	c.columns(o, n)
	c.selectable(o, n)
	c.schemas(old, new, o, n)
}

func (c *comparison) deprecation(old, new *CRD, o, n *version) {
	was, is := schema.Deprecation(old, o), schema.Deprecation(new, n)
	switch {
	case was == is && o.Deprecated == n.Deprecated:
	case n.Deprecated && !o.Deprecated:
		c.tell(found{kind: VersionDeprecated, impact: Impact{Writers: Care, Readers: Care}, at: path("deprecated"), old: false, new: true,
			message: "every request is answered with a warning: " + is})
	case !n.Deprecated:
		c.tell(found{kind: VersionUndeprecated, at: path("deprecated"), old: true, new: false, message: "requests are no longer answered with a warning"})
	default:
		at := path("deprecationWarning")
		if n.DeprecationWarning == nil && o.DeprecationWarning == nil {
			at = path("deprecated")
		}
		c.tell(found{kind: DeprecationWarningChanged, at: at, old: was, new: is, message: "the warning reads: " + is})
	}
}

// schemas compares the schemas of two versions.
func (c *comparison) schemas(old, new *CRD, o, n *version) {
	was, is := schema.Of(o), schema.Of(n)
	at := path("schema", "openAPIV3Schema")
	switch {
	case was == nil && is == nil:
		return
	case was == nil:
		c.tell(found{kind: SchemaAdded, impact: Impact{Stored: Care, Writers: Care}, at: at, new: struct{}{}, message: "there was no schema: nothing was validated"})
		return
	case is == nil:
		impact := Impact{Readers: Care}
		if !new.Spec.PreserveUnknownFields {
			impact = everybody(Breaking)
		}
		c.tell(found{kind: SchemaRemoved, impact: impact, at: at, old: struct{}{}, message: "there is no schema any more: nothing is validated, and what would be pruned is all there is"})
		return
	}
	if was == is || reflect.DeepEqual(was, is) && old.Spec.PreserveUnknownFields == new.Spec.PreserveUnknownFields {
		return
	}
	c.oldBase, c.newBase, c.schema = c.oldBase.With(at...), c.newBase.With(at...), true
	w := &walk{comparison: c, oldKeepsAll: old.Spec.PreserveUnknownFields, newKeepsAll: new.Spec.PreserveUnknownFields}
	w.node(was, is, place{root: true})
	w.documentation()
}
