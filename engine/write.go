package engine

import (
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/patch"
)

// Write is a write of one object: a Create, an Update or a Patch.
type Write interface{ isWrite() }

// ObjectWrite is a Write that has the whole object: a Create or an Update.
type ObjectWrite interface {
	Write
	hasObject()
}

// Create creates an object.
type Create struct {
	// Object is the object as the client sends it.
	Object Document
	// Version is the version of the endpoint: v1. The default is that of the object's apiVersion. With a Version, the
	// object is evaluated as at that endpoint: another apiVersion is rejected, and another kind is a violation.
	Version string
	// Namespace and Name are those of the request. The defaults are those of the object.
	Namespace, Name string
	// GeneratedName is the name that the server generated from metadata.generateName. It is used for an object with a
	// generateName and without a name, and returned with it. Decode ignores it: API servers generate names after mutating
	// admission.
	GeneratedName string
}

// Update replaces an object, or its status or scale.
type Update struct {
	// Object is the new object as the client sends it. For the subresource scale, it is an autoscaling/v1 Scale, and only
	// the replicas are taken from it.
	Object Document
	// Old is the stored object in any version that the CRD lists. Of an earlier Verdict it is StoredObject, or Object if
	// StoredObject is nil. It is required, and read as Read does. An old object that cannot be
	// read, is of another kind, or has another name or namespace than the write, is an error. If it has a uid or a
	// resourceVersion, Admit returns a conflict for an Object with another one. Validate only requires a resourceVersion.
	Old Document
	// OldDecoded says that Old was read from the storage already: it is decoded, defaulted and in the version of the
	// endpoint, as a server holds it. It is used as it is. Another version is an error.
	OldDecoded bool
	// Subresource is "", "status" or "scale". For status, everything but the status is taken from Old.
	Subresource string
	// Version, Namespace and Name are as in Create.
	Version, Namespace, Name string
}

// Patch is an Update whose object is Old with a patch applied. As on an API server, a JSON patch can have 10,000
// operations, and its copy operations can add 3 MiB. Its operations together can move 2^28 list elements, and change
// values at a depth of 2^16: beyond, there is a LIMIT_EXCEEDED.
type Patch struct {
	Type PatchType
	// Body is the patch: an object for MergePatch, a list of operations for JSONPatch.
	Body Document
	// Old, OldDecoded, Subresource, Version, Namespace and Name are as in Update.
	Old                      Document
	OldDecoded               bool
	Subresource              string
	Version, Namespace, Name string
}

func (Create) isWrite() {}
func (Update) isWrite() {}
func (Patch) isWrite()  {}

func (Create) hasObject() {}
func (Update) hasObject() {}

// PatchType is the format of a patch. The zero value is invalid.
type PatchType = patch.Type

// The patch types.
const (
	MergePatch = patch.Merge // RFC 7386, application/merge-patch+json
	JSONPatch  = patch.JSON  // RFC 6902, application/json-patch+json
)

// setWrite sets what a write has. It does not let the write escape to the heap: a call of a method would.
func setWrite(r *admission.Request, w Write) error {
	switch w := w.(type) {
	case Create:
		return setCreate(r, &w)
	case *Create:
		return setCreate(r, w)
	case Update:
		return setUpdate(r, &w)
	case *Update:
		return setUpdate(r, w)
	case Patch:
		return setPatch(r, &w)
	case *Patch:
		return setPatch(r, w)
	}
	return invalid("there is no write: make a Create, an Update or a Patch")
}

// typed returns the document of a write that has the apiVersion and kind of the custom resource: a patch has none, and a
// Scale has its own.
func typed(w Write) Document {
	switch w := w.(type) {
	case Create:
		return w.Object
	case *Create:
		return w.Object
	case Update:
		return typedOf(&w)
	case *Update:
		return typedOf(w)
	case Patch:
		return w.Old
	case *Patch:
		return w.Old
	}
	return Document{}
}

func typedOf(w *Update) Document {
	if w.Subresource == "scale" {
		return w.Old
	}
	return w.Object
}

func setCreate(r *admission.Request, w *Create) error {
	r.Version, r.Namespace, r.Name, r.GeneratedName = w.Version, w.Namespace, w.Name, w.GeneratedName
	return setBody(r, w.Object, "object")
}

func setUpdate(r *admission.Request, w *Update) error {
	r.Version, r.Namespace, r.Name = w.Version, w.Namespace, w.Name
	if err := setBody(r, w.Object, "object"); err != nil {
		return err
	}
	return setOld(r, w.Old, w.OldDecoded, w.Subresource)
}

func setPatch(r *admission.Request, w *Patch) error {
	r.Version, r.Namespace, r.Name, r.Patch = w.Version, w.Namespace, w.Name, w.Type
	if w.Type != MergePatch && w.Type != JSONPatch {
		return invalid("unknown type of a patch: it is MergePatch or JSONPatch")
	}
	if err := setBody(r, w.Body, "patch"); err != nil {
		return err
	}
	return setOld(r, w.Old, w.OldDecoded, w.Subresource)
}

func setBody(r *admission.Request, d Document, what string) (err error) {
	r.Body, r.YAML, err = compiled.Document(d).Text(what)
	r.Origin = d.Origin
	return err
}

func setOld(r *admission.Request, old Document, decoded bool, subresource string) (err error) {
	switch subresource {
	case "":
	case "status":
		r.Status = true
	case "scale":
		r.Scale = true
	default:
		return invalid("custom resources have no subresource %s: it is empty, status or scale", subresource)
	}
	if old.Absent() {
		return invalid("there is no old object: set Old")
	}
	r.OldDecoded, r.OldOrigin = decoded, old.Origin
	r.Old, r.OldYAML, err = compiled.Document(old).Text("old object")
	return err
}
