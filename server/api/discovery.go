package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// Discover returns a discovery document of a catalog.
func (s *presentationService) Discover(ctx context.Context, r *crdevalv1.DiscoverRequest) (*crdevalv1.DiscoverResponse, error) {
	key := documentKey{kind: "discovery", group: r.GetGroup(), version: r.GetVersion(), crd: r.GetCrd(), revision: r.GetRevision()}
	switch {
	case key.revision != "" && key.crd == "":
		return nil, invalid("revision", "revision is set without crd")
	case key.version != "" && key.group == "":
		return nil, invalid("group", "group is required with version")
	case r.GetAggregated() && key.group != "":
		return nil, invalid("aggregated", "aggregated and group exclude each other: the aggregated document has all groups")
	case r.GetAggregated():
		key.kind = "aggregated discovery"
	}
	document, etag, err := s.document(ctx, r, key, func(_ context.Context, view registry.View) ([]byte, string, error) {
		crds, err := key.crds(view, false)
		if err != nil {
			return nil, "", err
		}
		versions := 0
		for i := range crds {
			versions += len(crds[i].Versions)
		}
		if err := reserveDocument(ctx, min(int64(versions)*discoveryBytes, int64(s.limits.MaxMessageBytes))); err != nil {
			return nil, "", err
		}
		found := publish.Discover(crds...)
		var document []byte
		var etag string
		switch {
		case r.GetAggregated():
			document, etag = found.Aggregated()
		case key.version != "":
			document = found.Resources(key.group, key.version)
		case key.group != "":
			document = found.Group(key.group)
		default:
			document = found.GroupList()
		}
		if document == nil {
			return nil, "", groupVersionNotFound(r.GetCatalog(), key)
		}
		if etag == "" {
			etag = hashOf(document)
		}
		return document, etag, s.limits.checkResponse("the discovery document", len(document))
	})
	return &crdevalv1.DiscoverResponse{Document: JSON(document), Etag: etag}, err
}

// hashOf returns the etag of a document that a response contains.
func hashOf(document []byte) string { return fmt.Sprintf("%X", sha256.Sum256(document)) }

func groupVersionNotFound(catalog string, key documentKey) error {
	p := &Error{
		Reason:   crdevalv1.ErrorReason_ERROR_REASON_GROUP_VERSION_NOT_FOUND,
		Message:  fmt.Sprintf("catalog %q does not serve API group %s", catalog, quoted(key.group)),
		Metadata: map[string]string{"catalog": catalog, "group": key.group},
	}
	if key.version != "" {
		p.Message = fmt.Sprintf("catalog %q does not serve version %s of API group %s", catalog, quoted(key.version), quoted(key.group))
		p.Metadata["version"] = key.version
	}
	return p
}

// GetOpenApi returns an OpenAPI document of a catalog.
func (s *presentationService) GetOpenApi(ctx context.Context, r *crdevalv1.GetOpenApiRequest) (*crdevalv1.GetOpenApiResponse, error) {
	key := documentKey{kind: r.GetSpec(), group: r.GetGroup(), version: r.GetVersion(), crd: r.GetCrd(), revision: r.GetRevision()}
	switch err := required("spec", key.kind); {
	case err != nil:
		return nil, err
	case key.kind != "v2" && key.kind != "v3":
		return nil, invalid("spec", "spec is %s: it must be v2 or v3", quoted(key.kind))
	case key.kind == "v2" && (key.group != "" || key.version != ""):
		return nil, invalid("group", "OpenAPI v2 has one document for all groups and versions: leave out group and version")
	case (key.group == "") != (key.version == ""):
		return nil, invalid("version", "group and version must be set together; without both the response is the index")
	case key.revision != "" && key.crd == "":
		return nil, invalid("revision", "revision is set without crd")
	}
	document, etag, err := s.document(ctx, r, key, func(work context.Context, view registry.View) ([]byte, string, error) {
		o := s.limits.openAPI(ctx)
		crds, err := key.crds(view, true)
		if err != nil {
			return nil, "", err
		}
		var document *publish.OpenAPIDocument
		switch {
		case key.kind == "v2":
			document, err = o.V2(work, crds...)
		case key.group == "":
			document, err = o.V3Index(work, "", crds...)
		default:
			document, err = o.V3(work, key.group, key.version, crds...)
		}
		if e := (*engine.Error)(nil); errors.As(err, &e) && e.Reason == engine.ReasonVersionNotFound {
			err = groupVersionNotFound(r.GetCatalog(), key)
		}
		if err != nil {
			return nil, "", err
		}
		return document.JSON, document.ETag, s.limits.checkResponse("the OpenAPI document", len(document.JSON))
	})
	return &crdevalv1.GetOpenApiResponse{Document: JSON(document), Etag: etag}, err
}

// maxETags bounds the cached etags of documents, of some hundred bytes each. With them, If-None-Match is answered without
// building the document. An etag belongs to a state of a catalog, so it never becomes stale.
const maxETags = 8192

// A documentKey identifies a document about a state of a catalog.
type documentKey struct {
	state                any // registry.View.State
	kind, group, version string
	crd, revision        string // the only CRD in the document, "" for all
}

// crds returns the CRDs in the document: one, or all or all established ones.
func (k *documentKey) crds(view registry.View, established bool) ([]publish.CRD, error) {
	if k.crd == "" {
		return view.AllCRDs(established), nil
	}
	one, err := view.DescribeCRD(k.crd, k.revision)
	return []publish.CRD{one}, err
}

// documentRequest has the fields of all requests for documents about catalogs.
type documentRequest interface {
	GetCatalog() string
	GetAtLeast() string
	GetIfNoneMatch() string
}

// document returns a document about a catalog and its etag in double quotes. The document is nil if the caller has it.
func (s *presentationService) document(
	ctx context.Context, r documentRequest, key documentKey, build func(context.Context, registry.View) (document []byte, etag string, err error),
) (document []byte, etag string, err error) {
	view, err := s.registry.View(ctx, r.GetCatalog(), r.GetAtLeast())
	if err != nil {
		return nil, "", err
	}
	key.state = view.State()
	if etag, ok := s.etags.Get(key); ok && matches(r.GetIfNoneMatch(), etag) {
		return nil, etag, nil
	}
	err = s.scheduler.Do(ctx, func(work context.Context) (err error) {
		document, etag, err = build(work, view)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	etag = `"` + etag + `"`
	s.etags.Add(key, etag)
	if matches(r.GetIfNoneMatch(), etag) {
		document = nil
	}
	return document, etag, nil
}

// matches reports whether an etag is in a header If-None-Match.
func matches(ifNoneMatch, etag string) bool {
	return slices.ContainsFunc(strings.Split(ifNoneMatch, ","), func(t string) bool {
		t = strings.TrimSpace(t)
		return t == "*" || strings.TrimPrefix(t, "W/") == etag
	})
}

// openAPI returns what makes OpenAPI documents within the limits. ctx is that of the call.
func (l Limits) openAPI(ctx context.Context) publish.OpenAPI {
	return publish.OpenAPI{
		MaxBytes: int64(l.maxDocumentBytes()), Reserve: func(bytes int64) error { return reserveDocument(ctx, bytes) },
	}
}

// discoveryBytes is the approximate memory for the discovery of one version of a CRD.
const discoveryBytes = 4 << 10

// reserveDocument charges the lease of a call for a document that it builds. A request of few bytes can ask for a document
// as large as a message.
func reserveDocument(ctx context.Context, n int64) error {
	return call.Of(ctx).Lease.TryGrow(call.Tree, n) // it holds a seat
}
