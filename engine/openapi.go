package engine

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/openapi"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// MaxOpenAPIBytes bounds one OpenAPI document.
const MaxOpenAPIBytes = 256 << 20

// OpenAPIDocument is an OpenAPI document as an API server publishes it.
type OpenAPIDocument struct {
	// JSON is the document. The caller must not modify it.
	JSON []byte
	// ETag is its SHA-512 in upper-case hexadecimal digits, without quotes, as upstream computes it. A v3 document is
	// byte for byte that of an API server with the same CRDs, and so is its ETag.
	ETag string
}

// PublishedCRD is a CRD for OpenAPI documents and Explain. It needs a Definition or a Name; without either it is
// ignored.
type PublishedCRD struct {
	Definition *Definition
	// Name, Group, Revision, Versions and Names describe a CRD without a Definition. Names are needed for Explain only.
	Name, Group, Revision string
	Versions              []VersionInfo
	Names                 Names
	// Manifest returns Definition.Manifest. It is called only if the result is not cached. Its errors are returned.
	Manifest func(context.Context) ([]byte, error)
}

// Published returns definitions as PublishedCRDs.
func Published(definitions ...*Definition) []PublishedCRD {
	crds := make([]PublishedCRD, len(definitions))
	for i, d := range definitions {
		crds[i].Definition = d
	}
	return crds
}

// OpenAPIV3 returns what an API server returns at /openapi/v3/apis/{group}/{version} for the CRDs. Other groups and
// versions are ignored. The caller selects the CRDs that are established.
//
// The error is VERSION_NOT_FOUND if no CRD serves the version, INVALID_ARGUMENT if two CRDs have the same kind there,
// LIMIT_EXCEEDED, or ITEM_DEADLINE.
func OpenAPIV3(ctx context.Context, group, version string, crds ...PublishedCRD) (*OpenAPIDocument, error) {
	return OpenAPIPublisher{}.V3(ctx, group, version, crds...)
}

// OpenAPIV3Index returns what an API server returns at /openapi/v3 for the CRDs: the URL of each document, with its
// ETag as the hash. root is the prefix of the URLs, "" on an API server. Errors are those of OpenAPIV3.
func OpenAPIV3Index(ctx context.Context, root string, crds ...PublishedCRD) (*OpenAPIDocument, error) {
	return OpenAPIPublisher{}.V3Index(ctx, root, crds...)
}

// OpenAPIV2 returns the part of the CRDs in what an API server returns at /openapi/v2: all served versions in one
// document. If two have the same kind, the one with the later name is used. The error is LIMIT_EXCEEDED or
// ITEM_DEADLINE.
func OpenAPIV2(ctx context.Context, crds ...PublishedCRD) (*OpenAPIDocument, error) {
	return OpenAPIPublisher{}.V2(ctx, crds...)
}

// OpenAPIModels returns a v3 document of all versions of one CRD, served or not. An API server uses these types to
// track field ownership, since objects may have managed fields of versions that are no longer served. Upstream's
// managedfields.NewTypeConverter takes its components.schemas. Errors are those of OpenAPIV3.
func OpenAPIModels(ctx context.Context, crd PublishedCRD) (_ *OpenAPIDocument, err error) {
	defer recovered(&err)
	return OpenAPIPublisher{}.document(ctx, openapi.V3Form, versionsOf([]PublishedCRD{crd}, func(VersionInfo) bool { return true }), mostKept)
}

// OpenAPIKept returns the size of the process's caches of OpenAPI documents and their parts, at most 40 MiB.
func OpenAPIKept() int64 {
	return keptDocuments.Stats().Bytes + keptParts.Stats().Bytes + keptETags.Stats().Bytes
}

// The caches of whole documents, of parts of them, and of the ETags of indexes.
var (
	keptDocuments = newOpenAPICache(16<<20, func(d *OpenAPIDocument) int64 { return int64(cap(d.JSON) + len(d.ETag)) })
	keptParts     = newOpenAPICache(16<<20, (*openapi.Part).Size)
	keptETags     = newOpenAPICache(8<<20, func(etag string) int64 { return int64(len(etag)) })
)

func newOpenAPICache[V any](maxBytes int64, weigh func(V) int64) *cache.Cache[string, V] {
	const overhead = 256 // of an entry and its key
	return cache.New(cache.Options[string, V]{
		MaxBytes: maxBytes, MaxEntryBytes: maxBytes / 4, Weigh: func(v V) int64 { return overhead + weigh(v) },
	})
}

// documentKey returns a key that equal documents share.
func documentKey(group, version string, of []publishedVersion) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s/%s", group, version) // a hash never fails
	for i := range of {
		_, _ = fmt.Fprintf(h, " %s", of[i].crd.Revision)
	}
	return string(h.Sum(nil))
}

// openAPIPart returns the part of a version in documents of a form. A part of at most keep bytes is cached.
func (c *PublishedCRD) openAPIPart(ctx context.Context, version string, form openapi.Form, keep int64) (*openapi.Part, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed(ReasonItemDeadline, "the call ended before the OpenAPI document was made", err)
	}
	key := fmt.Sprintf("%d %s %s", form, c.Revision, version)
	if p, ok := keptParts.Cached(key); ok {
		return p, nil
	}
	r, err := c.resource(ctx, version)
	if err != nil {
		return nil, err
	}
	p, err := openapi.Build(r, form)
	if err != nil {
		return nil, failed(ReasonInternal, "OpenAPI of "+c.Name+", version "+version, err)
	}
	if p.Size() <= keep {
		keptParts.Add(key, p)
	}
	return p, nil
}

// resource decodes the manifest: a Definition retains only what evaluations need.
func (c *PublishedCRD) resource(ctx context.Context, version string) (*openapi.Resource, error) {
	manifest, err := c.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	if r, ok := openapi.Read(manifest, version); ok {
		return r, nil
	}
	m, err := definition.Decode(manifest)
	if err != nil {
		return nil, failed(ReasonInternal, "canonical CRD", err)
	}
	if schema.Find(m.CRD, version) == nil {
		message := fmt.Sprintf("the manifest of CRD %s has no version %q", c.Name, version)
		return nil, &Error{Reason: ReasonVersionNotFound, Message: message}
	}
	return openapi.Describe(m.CRD, version), nil
}
