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

// MaxOpenAPIBytes bounds one OpenAPI document. Beyond it there is a LIMIT_EXCEEDED.
const MaxOpenAPIBytes = 256 << 20

// OpenAPIDocument is an OpenAPI document as an API server publishes it.
type OpenAPIDocument struct {
	// JSON is the document. The caller must not change it.
	JSON []byte
	// ETag is its SHA-512 in capital hexadecimal letters, without the quotes that HTTP wants around it, which is upstream's own rule. A document of v3 is byte for
	// byte that of an API server with the same CRDs, and so is its ETag. A document of v2 has the value of what an API server says of the CRDs among all that it
	// serves.
	ETag string
}

// PublishedCRD is a CRD of which documents are made.
type PublishedCRD struct {
	// Definition is the CRD; one that is nil is left out, unless there is a Name.
	Definition *Definition
	// Name, Group, Revision, Versions and Names say the same of a CRD without compiling it, for who keeps them: Definition.Name and so on, the last of them
	// in Definition.Standing. They count where there is no Definition. Names are for Explain alone.
	Name, Group, Revision string
	Versions              []VersionInfo
	Names                 Names
	// Manifest returns what Definition.Manifest would. It is called only if what is made of it is not kept from before; its errors are passed on.
	Manifest func(context.Context) ([]byte, error)
}

// Published returns definitions as CRDs of which documents are made.
func Published(definitions ...*Definition) []PublishedCRD {
	crds := make([]PublishedCRD, len(definitions))
	for i, d := range definitions {
		crds[i].Definition = d
	}
	return crds
}

// OpenAPIV3 returns what an API server answers at /openapi/v3/apis/{group}/{version}: everything that the CRDs serve there. CRDs of other groups, and those that
// do not serve the version, are passed over. An API server publishes CRDs that are established; whether one is, the caller knows.
//
// The error is VERSION_NOT_FOUND if nothing is served there, INVALID_ARGUMENT if two CRDs have the same kind there, LIMIT_EXCEEDED, or ITEM_DEADLINE.
func OpenAPIV3(ctx context.Context, group, version string, crds ...PublishedCRD) (*OpenAPIDocument, error) {
	return OpenAPIPublisher{}.V3(ctx, group, version, crds...)
}

// OpenAPIV3Index returns what an API server answers at /openapi/v3 about the CRDs: the URL of each document, which has its ETag as a hash. root is what stands
// before /openapi/v3 in these URLs: "" as on an API server. Errors are those of OpenAPIV3.
func OpenAPIV3Index(ctx context.Context, root string, crds ...PublishedCRD) (*OpenAPIDocument, error) {
	return OpenAPIPublisher{}.V3Index(ctx, root, crds...)
}

// OpenAPIV2 returns what the CRDs contribute to what an API server answers at /openapi/v2: all of their served versions in one document. Where two have the same
// kind, the one whose name comes later counts. The error is LIMIT_EXCEEDED or ITEM_DEADLINE.
func OpenAPIV2(ctx context.Context, crds ...PublishedCRD) (*OpenAPIDocument, error) {
	return OpenAPIPublisher{}.V2(ctx, crds...)
}

// OpenAPIModels returns a document like those of v3 with every version of one CRD, served or not: the types by which an API server tracks who owns which field, since
// objects may remember owners of versions that are served no more. Its components.schemas are what upstream's managedfields.NewTypeConverter takes. Errors
// are those of OpenAPIV3.
func OpenAPIModels(ctx context.Context, crd PublishedCRD) (_ *OpenAPIDocument, err error) {
	defer recovered(&err)
	var of []publishedVersion
	crds := inOrder([]PublishedCRD{crd})
	for i := range crds {
		for _, v := range crds[i].Versions {
			of = append(of, publishedVersion{&crds[i], v.Name})
		}
	}
	return OpenAPIPublisher{}.document(ctx, openapi.V3Form, of, mostKept)
}

// OpenAPIKept returns how many bytes of OpenAPI documents, and of parts of them, the process keeps because they were asked for lately: 40 MiB at most.
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

// documentKey is the same for equal documents.
func documentKey(group, version string, of []publishedVersion) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s/%s", group, version) // a hash never fails
	for i := range of {
		_, _ = fmt.Fprintf(h, " %s", of[i].crd.Revision)
	}
	return string(h.Sum(nil))
}

// openAPIPart returns what a version contributes to the documents of a form. It is kept if it has at most so many bytes.
func (c *PublishedCRD) openAPIPart(ctx context.Context, version string, form openapi.Form, keep int64) (*openapi.Part, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Reason: ReasonItemDeadline, Message: "the call ended before the OpenAPI document was made: " + err.Error(), Err: err}
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
		return nil, &Error{Reason: ReasonInternal, Message: "OpenAPI of " + c.Name + ", version " + version + ": " + err.Error(), Err: err}
	}
	if p.Size() <= keep {
		keptParts.Add(key, p)
	}
	return p, nil
}

// resource reads the manifest again: a Definition keeps only what evaluations need.
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
		return nil, &Error{Reason: ReasonInternal, Message: "canonical CRD: " + err.Error(), Err: err}
	}
	if schema.Find(m.CRD, version) == nil {
		return nil, &Error{Reason: ReasonVersionNotFound, Message: fmt.Sprintf("the manifest of CRD %s has no version %q", c.Name, version)}
	}
	return openapi.Describe(m.CRD, version), nil
}
