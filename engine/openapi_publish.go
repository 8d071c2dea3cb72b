package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/openapi"
	"github.com/crdeval/crdeval/internal/value"
)

// OpenAPIPublisher makes OpenAPI documents within bounds of who asks for them: a server that answers many at a time. The zero value is what the functions
// OpenAPIV3 and so on use. What it holds while it writes a document is that document and some MiB; a document that would be too large is refused before memory
// is taken for it.
type OpenAPIPublisher struct {
	// MaxBytes bounds one document; 0 or more than MaxOpenAPIBytes: MaxOpenAPIBytes.
	MaxBytes int64
	// Room is asked for the memory of a document, with the number of its bytes, before that is taken, unless the document is kept from before; its error is
	// passed on. The documents behind an index follow one another, so that for them it is asked for what the largest takes. Nil: there is room.
	Reserve func(bytes int64) error
}

// V3 is OpenAPIV3.
func (p OpenAPIPublisher) V3(ctx context.Context, group, version string, crds ...PublishedCRD) (_ *OpenAPIDocument, err error) {
	defer recovered(&err)
	crds = inOrder(crds)
	var of []publishedVersion
	for i := range crds {
		if crds[i].Group == group && slices.Contains(crds[i].served(), version) {
			of = append(of, publishedVersion{&crds[i], version})
		}
	}
	if len(of) == 0 {
		return nil, &Error{Reason: ReasonVersionNotFound, Message: fmt.Sprintf("no CRD serves version %q of group %q", version, group)}
	}
	return p.kept(documentKey(group, version, of), func() (*OpenAPIDocument, error) { return p.document(ctx, openapi.V3Form, of, mostKept) })
}

// V2 is OpenAPIV2.
func (p OpenAPIPublisher) V2(ctx context.Context, crds ...PublishedCRD) (_ *OpenAPIDocument, err error) {
	defer recovered(&err)
	crds = inOrder(crds)
	var of []publishedVersion
	for i := range crds {
		for _, v := range crds[i].served() {
			of = append(of, publishedVersion{&crds[i], v})
		}
	}
	return p.kept(documentKey("", "v2", of), func() (*OpenAPIDocument, error) { return p.document(ctx, openapi.V2Form, of, mostKept) })
}

// V3Index is OpenAPIV3Index.
func (p OpenAPIPublisher) V3Index(ctx context.Context, root string, crds ...PublishedCRD) (_ *OpenAPIDocument, err error) {
	defer recovered(&err)
	crds = inOrder(crds)
	members := map[GroupVersion][]publishedVersion{}
	for i := range crds {
		for _, v := range crds[i].served() {
			at := GroupVersion{Group: crds[i].Group, Version: v}
			members[at] = append(members[at], publishedVersion{&crds[i], v})
		}
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
			// Nothing of it is kept but the ETag: the document may never be asked for, and there may be thousands.
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

// kept returns the document that is kept under a key, or makes it.
func (p OpenAPIPublisher) kept(key string, make func() (*OpenAPIDocument, error)) (*OpenAPIDocument, error) {
	doc, ok := keptDocuments.Cached(key)
	if !ok {
		var err error
		if doc, err = make(); err != nil {
			return nil, err
		}
		keptDocuments.Add(key, doc)
	}
	if size := int64(len(doc.JSON)); size > p.maxBytes() {
		return nil, openAPIError(openapi.TooLarge(size, p.maxBytes()))
	}
	return doc, nil
}

// publishedVersion is a version of a CRD that a document has.
type publishedVersion struct {
	crd     *PublishedCRD
	version string
}

// mostKept is how much of the parts of one document may be kept: more would throw out those of all others, and their own before they are asked for again.
const mostKept = 8 << 20

// document makes a document. keep is how much of its parts is kept for the next ones.
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
		return &Error{Reason: ReasonLimitExceeded, Message: limit.Error(), Limit: limit.Maximum, Actual: limit.Actual, Err: err}
	case errors.As(err, &conflict):
		return &Error{Reason: ReasonInvalidArgument, Message: err.Error(), Err: err}
	case errors.Is(err, openapi.ErrChanged):
		return &Error{Reason: ReasonInternal, Message: err.Error(), Err: err}
	}
	return err // of a manifest, or of who was asked for room
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

// inOrder returns the CRDs in the order of their names, in which documents are made, with all about them filled in.
func inOrder(crds []PublishedCRD) []PublishedCRD {
	out := make([]PublishedCRD, 0, len(crds))
	for _, c := range crds {
		if d := c.Definition; d != nil {
			c = PublishedCRD{
				Definition: d, Name: d.Name(), Group: d.Group(), Revision: d.revision, Versions: d.versions, Names: d.desired.Names,
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
