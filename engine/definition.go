package engine

import (
	"context"
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/value"
)

// Definition is a compiled CRD. It is immutable and safe for concurrent use.
type Definition struct {
	plural   string
	scope    Scope
	versions []VersionInfo
	desired  DesiredStatus
	revision string
	manifest []byte
	size     int64
	inner    *admission.Definition
	observer Observer
	limits   Limits

	conversion *ConversionReport
}

// Name returns the CRD's name: crontabs.stable.example.com.
func (d *Definition) Name() string { return d.inner.Name }

// Group returns the API group: stable.example.com.
func (d *Definition) Group() string { return d.inner.Group }

// Kind returns the kind: CronTab.
func (d *Definition) Kind() string { return d.inner.Kind }

// Plural returns the plural name, which URLs contain: crontabs.
func (d *Definition) Plural() string { return d.plural }

// Scope returns whether objects are namespaced.
func (d *Definition) Scope() Scope { return d.scope }

// Versions returns all versions by priority. The caller must not modify the slice.
func (d *Definition) Versions() []VersionInfo { return d.versions }

// StorageVersion returns the version in which objects are stored.
func (d *Definition) StorageVersion() string { return d.desired.StorageVersion }

// DesiredStatus returns what the manifest determines of the CRD's status. The caller must not modify it.
func (d *Definition) DesiredStatus() DesiredStatus { return d.desired }

// Terminating reports whether the CRD is being deleted, so that Admit rejects creations.
func (d *Definition) Terminating() bool { return d.inner.Terminating }

// Revision returns "sha256:" and the digest of the canonical manifest and of the options that change its meaning.
// Definitions with equal revisions return equal results.
func (d *Definition) Revision() string { return d.revision }

// Manifest returns the canonical JSON of the CRD: apiextensions.k8s.io/v1 with upstream's defaults and sorted keys,
// without status and without the metadata that a server sets. CompileStored takes it. The caller must not modify it.
func (d *Definition) Manifest() []byte { return d.manifest }

// Size returns the bytes that the Definition retains. Compiled patterns, which a process shares, do not count.
func (d *Definition) Size() int64 { return d.size }

func (d *Definition) version(name string) *VersionInfo {
	for i := range d.versions {
		if d.versions[i].Name == name {
			return &d.versions[i]
		}
	}
	return nil
}

// served returns a version that is served.
func (d *Definition) served(version string) (*admission.Version, error) {
	if version == "" {
		return nil, invalid("there is no version: say which of the CRD's versions is meant")
	}
	v, err := d.inner.Endpoint(version)
	if err != nil {
		return nil, faultError(err)
	}
	return v, nil
}

// inspect parses an object and calls look with it and its version. version is the one requested, "" for the object's
// own. The object is used as it is, without coercion, defaults or conversion, so an object of another version is an
// error.
func (d *Definition) inspect(
	ctx context.Context, version string, object Document, look func(v *admission.Version, doc *value.Doc, root uint32) error,
) error {
	if err := ctx.Err(); err != nil {
		return tooLate(err)
	}
	doc := value.Acquire() // not released by defer: after a panic it must not return to the pool
	v, root, err := d.parseObject(doc, version, object)
	if err == nil {
		err = look(v, doc, root)
	}
	doc.Release()
	return err
}

// parseObject parses an object for inspect and returns its version.
func (d *Definition) parseObject(doc *value.Doc, version string, object Document) (*admission.Version, uint32, error) {
	root, err := object.parse(doc, "object", d.limits)
	if err != nil {
		return nil, 0, err
	}
	wrong := func(format string, args ...any) (*admission.Version, uint32, error) {
		return nil, 0, invalid("object: %s", fmt.Sprintf(format, args...))
	}
	if doc.Nodes[root].Kind != value.Object {
		return wrong("it is not an object but of type %s", doc.Nodes[root].Kind)
	}
	apiVersion, kind := stringField(doc, root, "apiVersion"), stringField(doc, root, "kind")
	if kind != d.inner.Kind {
		return wrong("it is of kind %q, and objects of %s are of kind %s", kind, d.inner.Name, d.inner.Kind)
	}
	for _, own := range d.inner.Versions {
		if own.APIVersion != apiVersion {
			continue
		}
		if version != "" && version != own.Name {
			return wrong("it is of %s, not of the requested version %s: read or convert it to that version first", apiVersion, version)
		}
		v, err := d.served(own.Name)
		return v, root, err
	}
	return wrong("its apiVersion %q is not a version of %s", apiVersion, d.inner.Name)
}
