package compare

import (
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

type version = apiextensionsv1.CustomResourceDefinitionVersion

// index returns the index of a version, or -1.
func index(crd *CRD, name string) int {
	return slices.IndexFunc(crd.Spec.Versions, func(v version) bool { return v.Name == name })
}

// versionPath returns the path of version i, or of the list of versions for -1.
func versionPath(i int) tree.Path {
	at := path("spec", "versions")
	if i >= 0 {
		at = append(at, tree.At(i))
	}
	return at
}

// versions reports removed versions, then compares the others in the new CRD's order of priority.
func (c *comparison) versions(old, new *CRD) {
	for _, i := range schema.Priority(old.Spec.Versions) {
		if v := &old.Spec.Versions[i]; index(new, v.Name) < 0 {
			c.enter(v.Name, i, -1)
			c.removed(v)
		}
	}
	if o, n := schema.Storage(old), schema.Storage(new); o != nil && n != nil && o.Name != n.Name {
		c.enter(n.Name, index(old, n.Name), index(new, n.Name))
		c.report("StorageMoved", Impact{Stored: NeedsCare}, path("storage"), o.Name, n.Name,
			"objects are stored at %s instead of %s from their next write on; both versions must remain until all objects "+
				"have been written", n.Name, o.Name)
	}
	losses := newLosses(old, new)
	for _, i := range schema.Priority(new.Spec.Versions) {
		if !c.step() {
			return
		}
		n := &new.Spec.Versions[i]
		at := index(old, n.Name)
		c.enter(n.Name, at, i)
		if at < 0 {
			note := ""
			if !n.Served {
				note = ", but not served"
			}
			c.report("VersionAdded", harmless, nil, nil, n.Name, "the version %s is new%s", n.Name, note)
		} else {
			c.versionPair(old, new, &old.Spec.Versions[at], n)
		}
		c.enter(n.Name, at, i)
		c.losses(losses, n)
	}
}

// enter sets the version to compare and its indexes in the two CRDs, which may be -1.
func (c *comparison) enter(version string, old, new int) {
	c.version, c.oldBase, c.newBase, c.schema = version, versionPath(old), versionPath(new), false
}

func (c *comparison) removed(v *version) {
	impact, served := Impact{Stored: NeedsCare}, "was not served"
	if v.Served {
		impact, served = Impact{NeedsCare, Breaking, Breaking}, "clients that use it get 404"
	}
	stored := "make sure that no object is stored at it"
	if v.Storage || slices.Contains(c.Stored, v.Name) {
		impact.Stored = Breaking
		stored = "objects that are stored at it can no longer be read"
	}
	c.report("VersionRemoved", impact, nil, v.Name, nil, "the version %s is removed: %s; %s", v.Name, served, stored)
}

func (c *comparison) versionPair(old, new *CRD, o, n *version) {
	switch at := path("served"); {
	case o.Served && !n.Served:
		c.report("VersionUnserved", breaksClients, at, true, false,
			"the version %s is no longer served: clients that use it get 404", n.Name)
	case !o.Served && n.Served:
		c.report("VersionServed", harmless, at, false, true, "the version %s is served", n.Name)
	}
	c.deprecation(old, new, o, n)
	c.subresources(o, n)
	c.columns(o, n)
	c.selectableFields(o, n)
	c.schemas(old, new, o, n)
}

func (c *comparison) deprecation(old, new *CRD, o, n *version) {
	was, is := schema.Deprecation(old, o), schema.Deprecation(new, n)
	at := path("deprecated")
	switch {
	case was == is && o.Deprecated == n.Deprecated:
	case n.Deprecated && !o.Deprecated:
		c.report("VersionDeprecated", careForClients, at, false, true, "every response has a warning: %s", is)
	case !n.Deprecated:
		c.report("VersionUndeprecated", harmless, at, true, false, "responses no longer have a warning")
	default:
		if n.DeprecationWarning != nil || o.DeprecationWarning != nil {
			at = path("deprecationWarning")
		}
		c.report("DeprecationWarningChanged", harmless, at, was, is, "the warning is: %s", is)
	}
}

func (c *comparison) schemas(old, new *CRD, o, n *version) {
	was, is := schema.Of(o), schema.Of(n)
	at := path("schema", "openAPIV3Schema")
	oldPreservesAll, newPreservesAll := old.Spec.PreserveUnknownFields, new.Spec.PreserveUnknownFields
	switch {
	case was == nil && is == nil:
		return
	case was == nil:
		c.report("SchemaAdded", careForWrites, at, nil, struct{}{}, "there was no schema: nothing was validated")
		return
	case is == nil:
		impact := careForReaders
		if !newPreservesAll {
			impact = breaksAll
		}
		c.report("SchemaRemoved", impact, at, struct{}{}, nil,
			"there is no schema: nothing is validated, and all fields are pruned that pruning can affect")
		return
	}
	if was == is || reflect.DeepEqual(was, is) && oldPreservesAll == newPreservesAll {
		return
	}
	c.oldBase, c.newBase, c.schema = c.oldBase.With(at...), c.newBase.With(at...), true
	w := &walk{comparison: c, oldPreservesAll: oldPreservesAll, newPreservesAll: newPreservesAll}
	before := len(c.Changes) + c.Omitted
	w.node(partsOf(was, nil), partsOf(is, nil), node{root: true})
	w.documentation()
	if len(c.Changes)+c.Omitted == before {
		w.report("SchemaRewritten", harmless, nil, present{}, present{}, "the schema has another form: it accepts the same values")
	}
}
