package publish

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/openapi"
	crdschema "github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// OpenAPIDocument is an OpenAPI document as an API server publishes it.
type OpenAPIDocument struct {
	// JSON is the document. The caller must not modify it.
	JSON []byte
	// ETag is its SHA-512 in upper-case hexadecimal digits, without quotes, as upstream computes it. A v3 document is
	// byte for byte that of an API server with the same CRDs, and so is its ETag.
	ETag string
}

// maxDocumentBytes bounds one document.
const maxDocumentBytes = 256 << 20

// OpenAPI makes the OpenAPI documents that an API server publishes of CRDs. The zero value has the default bounds.
type OpenAPI struct {
	// MaxBytes bounds one document. 0 or less means 256 MiB, which is also the maximum.
	MaxBytes int64
	// Reserve, if not nil, is called before memory is retained for a document that is not cached. The sum of its
	// arguments is about the size of the document. While a document is made, its parts and the whole are in memory. Its
	// error is returned. The documents behind an index are made one after another, so only the largest is reserved.
	Reserve func(bytes int64) error
}

// V3 returns what an API server returns at /openapi/v3/apis/{group}/{version} for the CRDs. Other groups and versions
// are ignored. The caller selects the CRDs that are established.
//
// The error is VERSION_NOT_FOUND if no CRD serves the version, INVALID_ARGUMENT if two CRDs have the same kind there,
// LIMIT_EXCEEDED, or ITEM_DEADLINE.
func (o OpenAPI) V3(ctx context.Context, group, version string, crds ...CRD) (_ *OpenAPIDocument, err error) {
	defer host.Recover(&err)
	of := versionsOf(crds, func(v engine.VersionInfo) bool { return v.Served && v.Name == version })
	of = slices.DeleteFunc(of, func(v publishedVersion) bool { return v.crd.Group != group })
	if len(of) == 0 {
		message := fmt.Sprintf("no CRD serves version %q of group %q", version, group)
		return nil, &engine.Error{Reason: engine.ReasonVersionNotFound, Message: message}
	}
	return o.cached(ctx, openapi.V3Form, documentKey(group, version, of), of)
}

// V2 returns the part of the CRDs in what an API server returns at /openapi/v2: all served versions in one document. If
// two have the same kind, the one with the later name is used. The error is LIMIT_EXCEEDED or ITEM_DEADLINE.
func (o OpenAPI) V2(ctx context.Context, crds ...CRD) (_ *OpenAPIDocument, err error) {
	defer host.Recover(&err)
	of := versionsOf(crds, isServed)
	return o.cached(ctx, openapi.V2Form, documentKey("", "v2", of), of)
}

// Models returns a v3 document of all versions of one CRD, served or not. An API server uses these types to track field
// ownership, since objects may have managed fields of versions that are no longer served. Upstream's
// managedfields.NewTypeConverter takes its components.schemas. Errors are those of V3.
func (o OpenAPI) Models(ctx context.Context, crd CRD) (_ *OpenAPIDocument, err error) {
	defer host.Recover(&err)
	return o.document(ctx, openapi.V3Form, versionsOf([]CRD{crd}, func(engine.VersionInfo) bool { return true }))
}

// V3Index returns what an API server returns at /openapi/v3 for the CRDs: the URL of each document, with its
// ETag as the hash. root is the prefix of the URLs, "" on an API server. Errors are those of V3.
func (o OpenAPI) V3Index(ctx context.Context, root string, crds ...CRD) (_ *OpenAPIDocument, err error) {
	defer host.Recover(&err)
	members := map[schema.GroupVersion][]publishedVersion{}
	for _, v := range versionsOf(crds, isServed) {
		at := schema.GroupVersion{Group: v.crd.Group, Version: v.version}
		members[at] = append(members[at], v)
	}
	one, size, reserved := o, int64(0), int64(0)
	if o.Reserve != nil {
		one.Reserve = func(bytes int64) (err error) {
			if size += bytes; size > reserved {
				err, reserved = o.Reserve(size-reserved), size
			}
			return err
		}
	}
	entries := make([]openapi.IndexEntry, 0, len(members))
	for at, of := range members {
		key := documentKey(at.Group, at.Version, of)
		etag, ok := cachedETags.Cached(key)
		if !ok {
			// Only the ETag is cached: there may be thousands of documents that are never requested.
			size = 0
			doc, err := one.document(ctx, openapi.V3Form, of)
			if err != nil {
				return nil, err
			}
			etag = doc.ETag
			cachedETags.Add(key, etag)
		}
		entries = append(entries, openapi.IndexEntry{Group: at.Group, Version: at.Version, ETag: etag})
	}
	return openAPIDocument(openapi.Index(root, entries)), nil
}

func (o OpenAPI) maxBytes() int64 {
	if o.MaxBytes <= 0 {
		return maxDocumentBytes
	}
	return min(o.MaxBytes, maxDocumentBytes)
}

// The caches of documents and of the ETags of indexes.
var (
	cachedDocuments = newOpenAPICache(16<<20, func(d *OpenAPIDocument) int64 { return int64(cap(d.JSON) + len(d.ETag)) })
	cachedETags     = newOpenAPICache(8<<20, func(etag string) int64 { return int64(len(etag)) })
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

// cached returns a document from the cache, or makes it.
func (o OpenAPI) cached(ctx context.Context, form openapi.Form, key string, of []publishedVersion) (*OpenAPIDocument, error) {
	doc, ok := cachedDocuments.Cached(key)
	if !ok {
		var err error
		if doc, err = o.document(ctx, form, of); err != nil {
			return nil, err
		}
		cachedDocuments.Add(key, doc)
	}
	if size := int64(len(doc.JSON)); size > o.maxBytes() {
		return nil, openAPIError(openapi.TooLarge(size, o.maxBytes()))
	}
	return doc, nil
}

// publishedVersion is a version of a CRD in a document.
type publishedVersion struct {
	crd     *CRD
	version string
}

// document makes a document.
func (o OpenAPI) document(ctx context.Context, form openapi.Form, of []publishedVersion) (*OpenAPIDocument, error) {
	d := openapi.New(form, o.maxBytes(), o.Reserve)
	stop := interrupt.Of(ctx)
	for _, v := range of {
		if stop.Stopped() {
			return nil, failed(admission.Deadline, "the call ended before the OpenAPI document was made", context.Cause(ctx))
		}
		r, err := v.resource(ctx)
		if err != nil {
			return nil, err
		}
		if err := d.Add(r); err != nil {
			return nil, openAPIError(err)
		}
	}
	return openAPIDocument(d.JSON()), nil
}

// resource decodes the manifest: a Definition retains only what evaluations need.
func (v publishedVersion) resource(ctx context.Context) (*openapi.Resource, error) {
	manifest, err := v.crd.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	m, err := definition.DecodeVersion(manifest, v.version)
	if err != nil {
		return nil, failed(admission.Internal, "canonical CRD", err)
	}
	if crdschema.Find(m.CRD, v.version) == nil {
		message := fmt.Sprintf("the manifest of CRD %s has no version %q", v.crd.Name, v.version)
		return nil, &engine.Error{Reason: engine.ReasonVersionNotFound, Message: message}
	}
	return openapi.Describe(m.CRD, v.version), nil
}

func openAPIDocument(text []byte) *OpenAPIDocument {
	return &OpenAPIDocument{JSON: text, ETag: openapi.ETag(text)}
}

func openAPIError(err error) error {
	var limit *tree.LimitError
	switch {
	case errors.As(err, &limit):
		return limitExceeded(limit.Error(), limit, err)
	case errors.As(err, new(*openapi.ConflictError)):
		return &engine.Error{Reason: engine.ReasonInvalidArgument, Message: err.Error(), Err: err}
	}
	return err // of Manifest or Reserve
}

// versionsOf returns the versions of the CRDs for which include returns true, sorted by the names of the CRDs.
func versionsOf(crds []CRD, include func(engine.VersionInfo) bool) []publishedVersion {
	crds = inOrder(crds)
	var list []publishedVersion
	for i := range crds {
		for _, v := range crds[i].Versions {
			if include(v) {
				list = append(list, publishedVersion{&crds[i], v.Name})
			}
		}
	}
	return list
}
