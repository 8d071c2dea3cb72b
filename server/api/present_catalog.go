package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// Discover answers the resources of a catalog.
func (s *presentationService) Discover(ctx context.Context, r *crdevalv1.DiscoverRequest) (*crdevalv1.DiscoverResponse, error) {
	answer, err := s.discover(ctx, r)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return answer, nil
}

func (s *presentationService) discover(ctx context.Context, r *crdevalv1.DiscoverRequest) (*crdevalv1.DiscoverResponse, error) {
	switch err := needed(field{"catalog", r.GetCatalog()}); {
	case err != nil:
		return nil, err
	case r.GetVersion() != "" && r.GetGroup() == "":
		return nil, invalid("group", "group is required with version: it is a version of that group")
	case r.GetAggregated() && r.GetGroup() != "":
		return nil, invalid("aggregated", "aggregated and group exclude each other: the aggregated document has all groups")
	}
	view, err := s.registry.View(ctx, r.GetCatalog(), r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	asked := askedToDiscover(view, r)
	if etag := s.etags.known(asked, r.GetIfNoneMatch()); etag != "" {
		return &crdevalv1.DiscoverResponse{Etag: etag}, nil
	}
	document, etag, err := s.discovered(ctx, view, r)
	if err != nil {
		return nil, err
	}
	answer := &crdevalv1.DiscoverResponse{Etag: quoted(etag)}
	s.etags.keep(asked, answer.Etag)
	if !matches(r.GetIfNoneMatch(), answer.Etag) {
		answer.Document = json(document)
	}
	return answer, nil
}

// discovered makes the document.
func (s *presentationService) discovered(ctx context.Context, view registry.View, r *crdevalv1.DiscoverRequest) (document []byte, etag string, err error) {
	crds, versions := view.Discoverable(), 0
	for i := range crds {
		versions += len(crds[i].Versions)
	}
	if err := s.room.take(ctx, min(int64(versions)*discoveryBytes, s.room.max/2)); err != nil {
		return nil, "", err
	}
	found := engine.Discover(crds...)
	switch {
	case r.GetAggregated():
		document, etag = found.Aggregated()
	case r.GetVersion() != "":
		document = found.Resources(r.GetGroup(), r.GetVersion())
	case r.GetGroup() != "":
		document = found.Group(r.GetGroup())
	default:
		document = found.GroupList()
	}
	if document == nil {
		return nil, "", noGroupVersion(r.GetCatalog(), r.GetGroup(), r.GetVersion())
	}
	if etag == "" {
		etag = fmt.Sprintf("%X", sha256.Sum256(document))
	}
	return document, etag, s.fits("the discovery document", len(document))
}

func noGroupVersion(catalog, group, version string) error {
	p := &problem{
		reason:   crdevalv1.ErrorReason_ERROR_REASON_GROUP_VERSION_NOT_FOUND,
		message:  fmt.Sprintf("catalog %q serves nothing of API group %q", catalog, bounded(group, 256)),
		metadata: map[string]string{"catalog": catalog, "group": group},
	}
	if version != "" {
		p.message = fmt.Sprintf("catalog %q serves nothing of version %q of API group %q", catalog, bounded(version, 256), bounded(group, 256))
		p.metadata["version"] = version
	}
	return p
}

// GetOpenApi answers an OpenAPI document of a catalog.
func (s *presentationService) GetOpenApi(ctx context.Context, r *crdevalv1.GetOpenApiRequest) (*crdevalv1.GetOpenApiResponse, error) {
	answer, err := s.openAPI(ctx, r)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return answer, nil
}

func (s *presentationService) openAPI(ctx context.Context, r *crdevalv1.GetOpenApiRequest) (*crdevalv1.GetOpenApiResponse, error) {
	group, version := r.GetGroup(), r.GetVersion()
	switch err := needed(field{"catalog", r.GetCatalog()}, field{"spec", r.GetSpec()}); {
	case err != nil:
		return nil, err
	case r.GetSpec() != "v2" && r.GetSpec() != "v3":
		return nil, invalid("spec", "spec is %q: it is v2 or v3", bounded(r.GetSpec(), 256))
	case r.GetSpec() == "v2" && (group != "" || version != ""):
		return nil, invalid("group", "OpenAPI v2 is one document for all groups and versions: leave out group and version")
	case (group == "") != (version == ""):
		return nil, invalid("version", "group and version belong together: give both, or neither for the index")
	}
	view, err := s.registry.View(ctx, r.GetCatalog(), r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	asked := askedOpenAPI(view, r)
	if etag := s.etags.known(asked, r.GetIfNoneMatch()); etag != "" {
		return &crdevalv1.GetOpenApiResponse{Etag: etag}, nil
	}
	document, err := s.published(ctx, view, r)
	if err != nil {
		return nil, err
	}
	answer := &crdevalv1.GetOpenApiResponse{Etag: quoted(document.ETag)}
	s.etags.keep(asked, answer.Etag)
	if !matches(r.GetIfNoneMatch(), answer.Etag) {
		answer.Document = json(document.JSON)
	}
	return answer, nil
}

// published makes the document, or has it from before.
func (s *presentationService) published(ctx context.Context, view registry.View, r *crdevalv1.GetOpenApiRequest) (*engine.OpenAPIDocument, error) {
	publisher := engine.OpenAPIPublisher{
		MaxBytes: int64(s.mostBytes()),
		Reserve:  func(bytes int64) error { return s.room.take(ctx, copies*bytes) },
	}
	var document *engine.OpenAPIDocument
	var err error
	switch {
	case r.GetSpec() == "v2":
		document, err = publisher.V2(ctx, view.Published()...)
	case r.GetGroup() == "":
		document, err = publisher.V3Index(ctx, "", view.Published()...)
	default:
		document, err = publisher.V3(ctx, r.GetGroup(), r.GetVersion(), view.Published()...)
	}
	var failed *engine.Error
	switch {
	case err == nil:
		return document, s.fits("the OpenAPI document", len(document.JSON)) // an index is not bounded by the publisher
	case errors.As(err, &failed) && failed.Reason == engine.ReasonVersionNotFound:
		return nil, noGroupVersion(r.GetCatalog(), r.GetGroup(), r.GetVersion())
	}
	return nil, err
}

// GetFieldManagement answers what server-side apply has to know of a CRD.
func (s *presentationService) GetFieldManagement(ctx context.Context, r *crdevalv1.GetFieldManagementRequest) (*crdevalv1.GetFieldManagementResponse, error) {
	d, err := s.named(ctx, r.GetCatalog(), r.GetCrd(), r.GetRevision(), r.GetAtLeast())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	versions := []string{r.GetVersion()}
	if r.GetVersion() == "" {
		versions = nil
		for _, v := range d.Versions() {
			if v.Served {
				versions = append(versions, v.Name)
			}
		}
	}
	answer := &crdevalv1.GetFieldManagementResponse{Revision: d.Revision()}
	for _, version := range versions {
		m, err := d.FieldManagement(version)
		if err != nil {
			return nil, s.faults.call(ctx, (&subject{d, version}).aboutVersion(r.GetCatalog(), err))
		}
		answer.Versions = append(answer.Versions, fieldManagement(&m))
		answer.ReplicasPaths = replicasPaths(m.ReplicasPaths) // the same for all
	}
	return answer, nil
}

func fieldManagement(m *engine.FieldManagement) *crdevalv1.VersionFieldManagement {
	out := &crdevalv1.VersionFieldManagement{ApiVersion: m.APIVersion}
	for _, f := range m.ResetFields {
		out.ResetFields = append(out.ResetFields, &crdevalv1.ResetFields{Subresource: f.Subresource, ApiVersion: f.APIVersion, Fields: json(f.Fields)})
	}
	return out
}

func replicasPaths(list []engine.ReplicasPath) []*crdevalv1.ReplicasPath {
	all := make([]*crdevalv1.ReplicasPath, len(list))
	for i, p := range list {
		all[i] = &crdevalv1.ReplicasPath{ApiVersion: p.APIVersion, Fields: allValid(p.Fields)}
	}
	return all
}

// named finds the CRD that a request names.
func (s *presentationService) named(ctx context.Context, catalog, crd, revision, token string) (*engine.Definition, error) {
	if err := needed(field{"catalog", catalog}, field{"crd", crd}); err != nil {
		return nil, err
	}
	view, err := s.registry.View(ctx, catalog, token)
	if err != nil {
		return nil, err
	}
	return view.Named(ctx, crd, revision)
}
