// Package compiled holds the compiled form of a CRD. Package engine wraps it in engine.Definition, and the public
// packages below engine reach it through Of.
package compiled

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Definition is a compiled CRD. It is immutable and safe for concurrent use.
type Definition struct {
	// Inner has the plans, and everything else that evaluations need.
	Inner *admission.Definition
	Scope apiextensionsv1.ResourceScope
	// Versions are by priority.
	Versions []definition.VersionInfo
	// Desired is what the manifest determines of the status.
	Desired definition.DesiredStatus
	// Revision is "sha256:" and the digest of what determines the results.
	Revision string
	// Manifest is the canonical JSON of the CRD.
	Manifest []byte
	// Size is the number of bytes that the Definition retains.
	Size int64
	// Limits bound the documents of evaluations.
	Limits tree.Limits
	// Conversion describes the conversion rules, nil without rules.
	Conversion *Conversion
}

// Of returns the compiled form of a *engine.Definition. Package engine sets it when it is initialized.
var Of func(definition any) *Definition

// ConversionOf returns the compiled conversion rules of a *engine.Definition or of a *engine.Report, nil without rules.
// Package engine sets it when it is initialized.
var ConversionOf func(of any) *Conversion

// Violations returns the []engine.Violation of violations. Package engine sets it when it is initialized.
var Violations func(found []violation.Violation) any

// Error returns the *engine.Error for an error of a package below engine/internal: a *admission.Fault, or an error of
// package value. It returns a *engine.Error as it is, and nil for nil. Package engine sets it when it is initialized.
var Error func(err error) error

// Version returns the description of a version, or nil.
func (d *Definition) Version(name string) *definition.VersionInfo {
	for i := range d.Versions {
		if d.Versions[i].Name == name {
			return &d.Versions[i]
		}
	}
	return nil
}

// Served returns a version that is served. The error is a *admission.Fault.
func (d *Definition) Served(version string) (*admission.Version, error) {
	if version == "" {
		return nil, Invalid("there is no version: say which of the CRD's versions is meant")
	}
	return d.Inner.Endpoint(version)
}

// Inspect parses an object and calls look with it and its version. version is the one requested, "" for the object's
// own. The object is used as it is, without coercion, defaults or conversion, so an object of another version is an
// error.
func (d *Definition) Inspect(
	ctx context.Context, version string, object Document, look func(v *admission.Version, doc *tree.Doc, root uint32) error,
) error {
	if err := ctx.Err(); err != nil {
		return TooLate(err)
	}
	doc := tree.Acquire() // not released by defer: after a panic it must not return to the pool
	v, root, err := d.Parse(doc, version, object)
	if err == nil {
		err = look(v, doc, root)
	}
	doc.Release()
	return err
}

// Parse parses an object for Inspect and returns its version.
func (d *Definition) Parse(doc *tree.Doc, version string, object Document) (*admission.Version, uint32, error) {
	root, err := object.Parse(doc, "object", d.Limits)
	if err != nil {
		return nil, 0, err
	}
	wrong := func(format string, args ...any) (*admission.Version, uint32, error) {
		return nil, 0, Invalid("object: %s", fmt.Sprintf(format, args...))
	}
	if doc.Nodes[root].Kind != tree.Object {
		return wrong("it is not an object but of type %s", doc.Nodes[root].Kind)
	}
	apiVersion, kind := StringField(doc, root, "apiVersion"), StringField(doc, root, "kind")
	if kind != d.Inner.Kind {
		return wrong("it is of kind %q, and objects of %s are of kind %s", kind, d.Inner.Name, d.Inner.Kind)
	}
	for _, own := range d.Inner.Versions {
		if own.APIVersion != apiVersion {
			continue
		}
		if version != "" && version != own.Name {
			return wrong("it is of %s, not of the requested version %s: read or convert it to that version first", apiVersion, version)
		}
		v, err := d.Served(own.Name)
		return v, root, err
	}
	return wrong("its apiVersion %q is not a version of %s", apiVersion, d.Inner.Name)
}

// DefaultVersion returns the storage version if it is served, else the served version with the highest priority.
func (d *Definition) DefaultVersion() string {
	storage := d.Desired.StorageVersion
	if v := d.Version(storage); v != nil && v.Served {
		return storage
	}
	for i := range d.Versions {
		if d.Versions[i].Served {
			return d.Versions[i].Name
		}
	}
	return storage
}
