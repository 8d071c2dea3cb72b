package engine

import (
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/convert"
)

// Definition is a CRD ready to evaluate objects. It is immutable and safe for any number of goroutines.
type Definition struct {
	plural   string
	scope    Scope
	versions []VersionInfo
	storage  string
	desired  DesiredStatus
	revision string
	manifest []byte
	size     int64
	inner    *admission.Definition
	convert  convert.Converter
	observer Observer
	limits   Limits
}

// Name returns the CRD's name: crontabs.stable.example.com.
func (d *Definition) Name() string { return d.inner.Name }

// Group returns the API group: stable.example.com.
func (d *Definition) Group() string { return d.inner.Group }

// Kind returns the kind: CronTab.
func (d *Definition) Kind() string { return d.inner.Kind }

// Plural returns the resource as URLs spell it: crontabs.
func (d *Definition) Plural() string { return d.plural }

// Scope says whether objects live in namespaces.
func (d *Definition) Scope() Scope { return d.scope }

// Versions returns all versions in order of priority; the caller must not change the slice.
func (d *Definition) Versions() []VersionInfo { return d.versions }

// StorageVersion returns the version that objects are stored at.
func (d *Definition) StorageVersion() string { return d.storage }

// Standing returns what the manifest says about the CRD's status. The caller must not change what it refers to.
func (d *Definition) DesiredStatus() DesiredStatus { return d.desired }

// Revision returns "sha256:" and the digest of the canonical manifest with the options that shape its meaning: equal
// revisions give equal answers.
func (d *Definition) Revision() string { return d.revision }

// Manifest returns the canonical JSON of the CRD: apiextensions.k8s.io/v1, upstream's defaults filled in, keys sorted, no
// status, none of the metadata that a server sets. CompileStored takes it back. The caller must not change it.
func (d *Definition) Manifest() []byte { return d.manifest }

// Size returns the bytes that the Definition retains, process-wide interned patterns apart.
func (d *Definition) Size() int64 { return d.size }
