package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/openapi"
	"github.com/crdeval/crdeval/engine/value"
)

// OpenAPIPublisher makes OpenAPI documents within bounds of the caller. The zero value has the default bounds.
type OpenAPIPublisher struct {
	// MaxBytes bounds one document. 0 means MaxOpenAPIBytes, which is also the maximum.
	MaxBytes int64
	// Reserve, if not nil, is called with the size of a document before its memory is allocated, unless the document is
	// cached. Its error is returned. The documents behind an index are made one after another, so only the largest of
	// them is reserved.
	Reserve func(bytes int64) error
}

// V3 is OpenAPIV3.
func (p OpenAPIPublisher) V3(ctx context.Context, group, version string, crds ...PublishedCRD) (_ *OpenAPIDocument, err error) {
	defer recovered(&err)
	of := versionsOf(crds, func(v VersionInfo) bool { return v.Served && v.Name == version })
	of = slices.DeleteFunc(of, func(v publishedVersion) bool { return v.crd.Group != group })
	if len(of) == 0 {
		message := fmt.Sprintf("no CRD serves version %q of group %q", version, group)
		return nil, &Error{Reason: ReasonVersionNotFound, Message: message}
	}
	return p.cached(ctx, openapi.V3Form, documentKey(group, version, of), of)
}

// V2 is OpenAPIV2.
func (p OpenAPIPublisher) V2(ctx context.Context, crds ...PublishedCRD) (_ *OpenAPIDocument, err error) {
	defer recovered(&err)
	of := versionsOf(crds, func(v VersionInfo) bool { return v.Served })
	return p.cached(ctx, openapi.V2Form, documentKey("", "v2", of), of)
}

// V3Index is OpenAPIV3Index.
func (p OpenAPIPublisher) V3Index(ctx context.Context, root string, crds ...PublishedCRD) (_ *OpenAPIDocument, err error) {
	defer recovered(&err)
	members := map[GroupVersion][]publishedVersion{}
	for _, v := range versionsOf(crds, func(v VersionInfo) bool { return v.Served }) {
		at := GroupVersion{Group: v.crd.Group, Version: v.version}
		members[at] = append(members[at], v)
	}
	one := p
	if p.Reserve != nil {
		taken := int64(0)
		one.Reserve = func(bytes int64) error {
			if bytes <= taken {
				return nil
			}
			if err := p.Reserve(bytes - taken); err != nil {
				return err
			}
			taken = bytes
			return nil
		}
	}
	places := make([]openapi.Place, 0, len(members))
	for at, of := range members {
		key := documentKey(at.Group, at.Version, of)
		etag, ok := keptETags.Cached(key)
		if !ok {
			// Only the ETag is cached: there may be thousands of documents that nobody requests.
			doc, err := one.document(ctx, openapi.V3Form, of, 0)
			if err != nil {
				return nil, err
			}
			etag = doc.ETag
			keptETags.Add(key, etag)
		}
		places = append(places, openapi.Place{Group: at.Group, Version: at.Version, ETag: etag})
	}
	return openAPIDocument(openapi.Index(root, places)), nil
}

func (p OpenAPIPublisher) maxBytes() int64 {
	if p.MaxBytes <= 0 {
		return MaxOpenAPIBytes
	}
	return min(p.MaxBytes, MaxOpenAPIBytes)
}

// cached returns a document from the cache, or makes it.
func (p OpenAPIPublisher) cached(ctx context.Context, form openapi.Form, key string, of []publishedVersion) (*OpenAPIDocument, error) {
	doc, ok := keptDocuments.Cached(key)
	if !ok {
		var err error
		if doc, err = p.document(ctx, form, of, mostKept); err != nil {
			return nil, err
		}
		keptDocuments.Add(key, doc)
	}
	if size := int64(len(doc.JSON)); size > p.maxBytes() {
		return nil, openAPIError(openapi.TooLarge(size, p.maxBytes()))
	}
	return doc, nil
}

// publishedVersion is a version of a CRD in a document.
type publishedVersion struct {
	crd     *PublishedCRD
	version string
}

// mostKept bounds the cached parts of one document, which would otherwise evict those of all others.
const mostKept = 8 << 20

// document makes a document. keep bounds its parts that are cached.
func (p OpenAPIPublisher) document(ctx context.Context, form openapi.Form, of []publishedVersion, keep int64) (*OpenAPIDocument, error) {
	parts := openapi.Parts{Count: len(of), Make: func(i int) (*openapi.Part, error) {
		part, err := of[i].crd.openAPIPart(ctx, of[i].version, form, keep)
		if err == nil {
			keep -= part.Size()
		}
		return part, err
	}}
	write := openapi.V3
	if form == openapi.V2Form {
		write = openapi.V2
	}
	text, err := write(parts, openapi.Room{MaxBytes: p.maxBytes(), Take: p.Reserve})
	if err != nil {
		return nil, openAPIError(err)
	}
	return openAPIDocument(text), nil
}

func openAPIDocument(text []byte) *OpenAPIDocument {
	return &OpenAPIDocument{JSON: text, ETag: openapi.ETag(text)}
}

func openAPIError(err error) error {
	var limit *value.LimitError
	var conflict *openapi.ConflictError
	switch {
	case errors.As(err, &limit):
		return limitExceeded(limit.Error(), limit, err)
	case errors.As(err, &conflict):
		return &Error{Reason: ReasonInvalidArgument, Message: err.Error(), Err: err}
	case errors.Is(err, openapi.ErrChanged):
		return &Error{Reason: ReasonInternal, Message: err.Error(), Err: err}
	}
	return err // of Manifest or Reserve
}

func (c *PublishedCRD) served() []string {
	var names []string
	for _, v := range c.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// versionsOf returns the versions of the CRDs for which include returns true, sorted by the names of the CRDs.
func versionsOf(crds []PublishedCRD, include func(VersionInfo) bool) []publishedVersion {
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

// inOrder returns the CRDs sorted by name, with all fields filled in.
func inOrder(crds []PublishedCRD) []PublishedCRD {
	out := make([]PublishedCRD, 0, len(crds))
	for _, c := range crds {
		if d := c.Definition; d != nil {
			c = PublishedCRD{
				Definition: d, Name: d.Name(), Group: d.Group(), Revision: d.revision, Versions: d.versions,
				Names:    d.desired.Names,
				Manifest: func(context.Context) ([]byte, error) { return d.manifest, nil },
			}
		}
		if c.Name != "" {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b PublishedCRD) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
