package api

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// registryService answers the calls about CRDs and, in catalogs.go, about catalogs.
type registryService struct {
	crdevalv1.UnsafeRegistryServiceServer
	registry Registry
	limits   Limits
	faults   faults
	watches  *watches
}

// RegisterCrd judges and, if it is accepted, keeps a CRD.
func (s *registryService) RegisterCrd(ctx context.Context, r *crdevalv1.RegisterCrdRequest) (*crdevalv1.RegisterCrdResponse, error) {
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	one := registry.Submission{
		Manifest: given(r.GetManifest()), Precondition: registry.Precondition{Etag: r.GetEtag(), CreateOnly: r.GetCreateOnly()},
	}
	if err := checkSubmission(one); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	done, err := s.registry.Register(ctx, r.GetCatalog(), one.Manifest, one.Precondition)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return registered(done), nil
}

// CheckCrd judges a CRD and keeps nothing.
func (s *registryService) CheckCrd(ctx context.Context, r *crdevalv1.CheckCrdRequest) (*crdevalv1.CheckCrdResponse, error) {
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	manifest := given(r.GetManifest())
	if manifest.Absent() {
		return nil, s.faults.call(ctx, invalid("manifest", "manifest is required: the CustomResourceDefinition to check"))
	}
	done, err := s.registry.Check(ctx, r.GetCatalog(), manifest, r.GetAtLeast())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.CheckCrdResponse{
		Accepted: done.Report.Accepted, Report: report(done.Report), Crd: crd(done.CRD, false), Outcome: registrationOutcomes[done.Outcome],
	}, nil
}

// GetCrd answers a CRD, with its manifest unless the view says otherwise.
func (s *registryService) GetCrd(ctx context.Context, r *crdevalv1.GetCrdRequest) (*crdevalv1.GetCrdResponse, error) {
	if err := needed(field{"catalog", r.GetCatalog()}, field{"crd", r.GetCrd()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	full, err := wantsManifest(r.GetView(), true)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	found, err := s.registry.CRD(ctx, r.GetCatalog(), r.GetCrd(), r.GetRevision(), r.GetAtLeast())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.GetCrdResponse{Crd: crd(found, full)}, nil
}

// roomForFields is how much of a message a page of manifests leaves to everything else in it.
const roomForFields = 8

// ListCrds answers a page of a catalog's CRDs.
func (s *registryService) ListCrds(ctx context.Context, r *crdevalv1.ListCrdsRequest) (*crdevalv1.ListCrdsResponse, error) {
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	full, err := wantsManifest(r.GetView(), false)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	size, err := s.limits.pageSize(r.GetPageSize())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	page, err := s.registry.CRDs(ctx, r.GetCatalog(), registry.Page{
		Size: size, Token: r.GetPageToken(), WithManifest: full, MaxBytes: s.limits.MaxMessageBytes - s.limits.MaxMessageBytes/roomForFields,
	}, r.GetAtLeast())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	answer := &crdevalv1.ListCrdsResponse{NextPageToken: page.Next, Token: page.Token, Crds: make([]*crdevalv1.Crd, len(page.CRDs))}
	for i := range page.CRDs {
		answer.Crds[i] = crd(&page.CRDs[i], full)
	}
	return answer, nil
}

// DeleteCrd removes a CRD.
func (s *registryService) DeleteCrd(ctx context.Context, r *crdevalv1.DeleteCrdRequest) (*crdevalv1.DeleteCrdResponse, error) {
	if err := needed(field{"catalog", r.GetCatalog()}, field{"crd", r.GetCrd()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	token, err := s.registry.Delete(ctx, r.GetCatalog(), r.GetCrd(), r.GetEtag())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.DeleteCrdResponse{Token: token}, nil
}

// wantsManifest reads a view.
func wantsManifest(v crdevalv1.CrdView, byDefault bool) (bool, error) {
	switch v {
	case crdevalv1.CrdView_CRD_VIEW_UNSPECIFIED:
		return byDefault, nil
	case crdevalv1.CrdView_CRD_VIEW_BASIC:
		return false, nil
	case crdevalv1.CrdView_CRD_VIEW_FULL:
		return true, nil
	}
	return false, invalid("view", "view is %d, which is no CrdView", v)
}

// field is a field of a request that must not be empty.
type field struct{ name, value string }

func needed(fields ...field) error {
	for _, f := range fields {
		if f.value == "" {
			return invalid(f.name, "%s is required", f.name)
		}
	}
	return nil
}
