package engine

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Definition is a compiled CRD. It is immutable and safe for concurrent use.
type Definition struct {
	compiled compiled.Definition
	observer host.Observer
}

func init() {
	compiled.Of = func(d any) *compiled.Definition { return &d.(*Definition).compiled }
	compiled.ConversionOf = func(of any) *compiled.Conversion {
		if r, ok := of.(*Report); ok {
			return r.conversion
		}
		return of.(*Definition).compiled.Conversion
	}
	compiled.Violations = func(found []violation.Violation) any { return violations(found) }
	compiled.Error = publicError
	compiled.ServerWrite = func(ctx context.Context, d any, r compiled.ServerRequest) (any, compiled.ServerOutcome, error) {
		return d.(*Definition).serverWrite(ctx, r)
	}
	compiled.CompileStored = func(ctx context.Context, canonical []byte, o any) (any, error) {
		return compileStored(ctx, canonical, o.(Options))
	}
	compiled.CompileAsStored = func(
		ctx context.Context, manifest compiled.Document, o any,
	) (any, *apiextensionsv1.CustomResourceDefinition, error) {
		return compileAsStored(ctx, Document(manifest), o.(Options))
	}
	compiled.SetDefaults = func(ctx context.Context, d any, object compiled.Document, version string, view uint8) (any, error) {
		return d.(*Definition).setDefaults(ctx, object, version, view)
	}
}

// Name returns the CRD's name: crontabs.stable.example.com.
func (d *Definition) Name() string { return d.compiled.Inner.Name }

// Group returns the API group: stable.example.com.
func (d *Definition) Group() string { return d.compiled.Inner.Group }

// Kind returns the kind: CronTab.
func (d *Definition) Kind() string { return d.compiled.Inner.Kind }

// Plural returns the plural name, which URLs contain: crontabs.
func (d *Definition) Plural() string { return d.compiled.Inner.Plural }

// Scope returns whether objects are namespaced.
func (d *Definition) Scope() apiextensionsv1.ResourceScope { return d.compiled.Scope }

// Versions returns all versions by priority. The caller must not modify the slice.
func (d *Definition) Versions() []VersionInfo { return d.compiled.Versions }

// StorageVersion returns the version in which objects are stored.
func (d *Definition) StorageVersion() string { return d.compiled.Desired.StorageVersion }

// Terminating reports whether the CRD is being deleted, so that Admit rejects creations.
func (d *Definition) Terminating() bool { return d.compiled.Inner.Terminating }

// Revision returns "sha256:" and the digest of the canonical manifest and of the options that change its meaning.
// Definitions with equal revisions return equal results.
func (d *Definition) Revision() string { return d.compiled.Revision }

// Manifest returns the canonical JSON of the CRD: apiextensions.k8s.io/v1 with upstream's defaults and sorted keys,
// without status and without the metadata that a server sets. kubeserver.CompileStored takes it. The caller must not modify it.
func (d *Definition) Manifest() []byte { return d.compiled.Manifest }

// Size returns the bytes that the Definition retains. Compiled patterns, which a process shares, do not count.
func (d *Definition) Size() int64 { return d.compiled.Size }
