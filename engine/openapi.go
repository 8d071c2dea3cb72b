package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/openapi"
	"github.com/crdeval/crdeval/engine/value"
)

// MaxOpenAPIBytes bounds one OpenAPI document. Beyond it there is a LIMIT_EXCEEDED.
const MaxOpenAPIBytes = 256 << 20

// OpenAPIDocument is an OpenAPI document as an API server publishes it.
type OpenAPIDocument struct {
	// JSON is the document. The caller must not change it.
	JSON []byte
	// ETag is its SHA-512 in capital hexadecimal letters, without the quotes that HTTP wants around it. Documents of v3 are byte for byte those of an
	// API server that has the same CRDs, and so are their ETags; a document of v2 has the same value as an API server's part of it.
	ETag string
}

// OpenAPIV3 returns what an API server answers at /openapi/v3/apis/{group}/{version}: everything that the definitions serve there. Definitions of other groups,
// and those that do not serve the version, are passed over. An API server publishes only CRDs that are established; whether one is, the caller knows.
//
// The error is VERSION_NOT_FOUND if no definition has anything there, INVALID_ARGUMENT if two have the same kind there, LIMIT_EXCEEDED, or
// ITEM_DEADLINE.
func OpenAPIV3(ctx context.Context, group, version string, definitions []*Definition) (*OpenAPIDocument, error) {
	var members []*Definition
	for _, d := range openAPIOrder(definitions) {
		if d.Group() == group && d.serves(version) {
			members = append(members, d)
		}
	}
	if len(members) == 0 {
		return nil, &Error{Reason: ReasonVersionNotFound, Message: fmt.Sprintf("no CRD serves version %q of group %q", version, group)}
	}
	key := documentKey(group, version, members)
	if doc, ok := keptDocuments.Get(key); ok {
		return doc, nil
	}
	doc, err := openAPIV3(ctx, version, members, true)
	if err == nil {
		keptDocuments.Put(key, doc, int64(cap(doc.JSON)+len(doc.ETag)))
	}
	return doc, err
}

// OpenAPIV3Index returns what an API server answers at /openapi/v3 about the definitions: the URL of each document, which has its ETag as a hash. root is what
// stands before /openapi/v3 in these URLs: "" as on an API server. Errors are those of OpenAPIV3.
func OpenAPIV3Index(ctx context.Context, root string, definitions []*Definition) (*OpenAPIDocument, error) {
	members := map[[2]string][]*Definition{}
	for _, d := range openAPIOrder(definitions) {
		for _, v := range d.versions {
			if v.Served {
				at := [2]string{d.Group(), v.Name}
				members[at] = append(members[at], d)
			}
		}
	}
	places := make([]openapi.Place, 0, len(members))
	for at, of := range members {
		key := documentKey(at[0], at[1], of)
		etag, ok := keptETags.Get(key)
		if !ok {
			// Nothing of it is kept but the ETag: the document may never be asked for, and there may be thousands.
			doc, err := openAPIV3(ctx, at[1], of, false)
			if err != nil {
				return nil, err
			}
			etag = doc.ETag
			keptETags.Put(key, etag, int64(len(etag)))
		}
		places = append(places, openapi.Place{Group: at[0], Version: at[1], ETag: etag})
	}
	return documentOf(openapi.Index(root, places)), nil
}

// OpenAPIV2 returns what the definitions contribute to what an API server answers at /openapi/v2: all of their served versions in one document. Where two have the
// same kind, the one whose name comes later counts. The error is LIMIT_EXCEEDED or ITEM_DEADLINE.
func OpenAPIV2(ctx context.Context, definitions []*Definition) (*OpenAPIDocument, error) {
	var parts []*openapi.Part
	room := int64(MaxOpenAPIBytes)
	for _, d := range openAPIOrder(definitions) {
		for _, v := range d.versions {
			if !v.Served {
				continue
			}
			p, err := d.openAPIPart(ctx, v.Name, openapi.V2Form, true)
			if err != nil {
				return nil, err
			}
			parts = append(parts, p)
			if room -= p.Size(); room < 0 {
				break // V2 says by how much
			}
		}
	}
	doc, err := openapi.V2(parts, MaxOpenAPIBytes)
	if err != nil {
		return nil, openAPIError(err)
	}
	return documentOf(doc), nil
}

// OpenAPIKept returns how many bytes of OpenAPI documents, and of parts of them, the process keeps because they were asked for lately. It is
// bounded, by 40 MiB.
func OpenAPIKept() int64 { return keptDocuments.Bytes() + keptParts.Bytes() + keptETags.Bytes() }

// What is kept of documents, in bytes: whole documents, parts, and the ETags of an index.
var (
	keptDocuments = openapi.NewKept[*OpenAPIDocument](16 << 20)
	keptParts     = openapi.NewKept[*openapi.Part](16 << 20)
	keptETags     = openapi.NewKept[string](8 << 20)
)

// documentKey is the same for equal documents.
func documentKey(group, version string, members []*Definition) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s/%s", group, version) // a hash never fails
	for _, d := range members {
		_, _ = fmt.Fprintf(h, " %s", d.revision)
	}
	return string(h.Sum(nil))
}

func openAPIV3(ctx context.Context, version string, members []*Definition, keep bool) (*OpenAPIDocument, error) {
	parts := make([]*openapi.Part, len(members))
	for i, d := range members {
		p, err := d.openAPIPart(ctx, version, openapi.V3Form, keep)
		if err != nil {
			return nil, err
		}
		parts[i] = p
	}
	doc, err := openapi.V3(parts, MaxOpenAPIBytes)
	if err != nil {
		return nil, openAPIError(err)
	}
	return documentOf(doc), nil
}

func documentOf(document []byte) *OpenAPIDocument {
	return &OpenAPIDocument{JSON: document, ETag: openapi.ETag(document)}
}

// openAPIPart returns what a version contributes to the documents of a form.
func (d *Definition) openAPIPart(ctx context.Context, version string, form openapi.Form, keep bool) (*openapi.Part, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Reason: ReasonItemDeadline, Message: "the call ended before the OpenAPI document was made: " + err.Error(), Err: err}
	}
	key := fmt.Sprintf("%d %s %s", form, d.revision, version)
	if p, ok := keptParts.Get(key); ok {
		return p, nil
	}
	crd, err := d.crd()
	if err != nil {
		return nil, err
	}
	p, err := openapi.Build(openapi.Describe(crd, version), form)
	if err != nil {
		return nil, &Error{Reason: ReasonInternal, Message: "OpenAPI of " + d.Name() + ", version " + version + ": " + err.Error(), Err: err}
	}
	if keep {
		keptParts.Put(key, p, p.Size())
	}
	return p, nil
}

// crd decodes the manifest again: a Definition keeps only what evaluations need.
func (d *Definition) crd() (*apiextensionsv1.CustomResourceDefinition, error) {
	m, err := definition.Decode(d.manifest)
	if err != nil {
		return nil, &Error{Reason: ReasonInternal, Message: "canonical CRD: " + err.Error(), Err: err}
	}
	return m.CRD, nil
}

func (d *Definition) serves(version string) bool {
	return slices.ContainsFunc(d.versions, func(v VersionInfo) bool { return v.Name == version && v.Served })
}

// openAPIOrder returns definitions in the order in which documents are made.
func openAPIOrder(definitions []*Definition) []*Definition {
	return slices.SortedStableFunc(slices.Values(definitions), func(a, b *Definition) int { return cmp.Compare(a.Name(), b.Name()) })
}

func openAPIError(err error) error {
	var limit *value.LimitError
	if errors.As(err, &limit) {
		return &Error{Reason: ReasonLimitExceeded, Message: limit.Error(), Limit: limit.Maximum, Actual: limit.Actual, Err: err}
	}
	return &Error{Reason: ReasonInvalidArgument, Message: err.Error(), Err: err}
}
