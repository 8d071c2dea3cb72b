package api

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// reservedResultBytes is reserved in a response for each result of RegisterCrds: the size of a shortened result.
const reservedResultBytes = 2 << 10

type registryService struct {
	crdevalv1.UnsafeRegistryServiceServer
	registry Registry
	limits   Limits
	faults   faults
	watches  *watchSlots
	visible  func(access.Identity, string) bool // nil: all catalogs
}

// RegisterCrd registers a CRD if it is accepted.
func (s *registryService) RegisterCrd(ctx context.Context, r *crdevalv1.RegisterCrdRequest) (*crdevalv1.RegisterCrdResponse, error) {
	one, err := submission(ctx, r)
	if err != nil {
		return nil, err
	}
	done, _, err := s.registry.RegisterAll(ctx, r.GetCatalog(), []registry.Submission{one})
	if err == nil {
		err = done[0].Err
	}
	if err != nil {
		return nil, err
	}
	m := registration(ctx, r.GetManifest(), done[0].Registration)
	return m, s.addStatus(m, done[0].Registration.Report, r.GetWithStatus())
}

// addStatus adds the metav1.Status of a rejection to a response, if it is requested.
func (s *registryService) addStatus(m *crdevalv1.RegisterCrdResponse, r *registry.Report, requested bool) error {
	rejected := m.GetReport().GetRejection()
	if !requested || rejected == nil {
		return nil
	}
	text, err := r.Status()
	if err == nil {
		err = s.limits.checkResponse("the metav1.Status", proto.Size(m)+len(text))
	}
	rejected.Status = JSON(text)
	return err
}

// CheckCrd returns what RegisterCrd would return, and stores nothing.
func (s *registryService) CheckCrd(ctx context.Context, r *crdevalv1.CheckCrdRequest) (*crdevalv1.CheckCrdResponse, error) {
	one, err := submission(ctx, &crdevalv1.RegisterCrdRequest{Manifest: r.GetManifest(), FieldValidation: r.GetFieldValidation()})
	if err != nil {
		return nil, err
	}
	done, err := s.registry.Check(ctx, r.GetCatalog(), one, r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	m := registration(ctx, r.GetManifest(), done)
	if err := s.addStatus(m, done.Report, r.GetWithStatus()); err != nil {
		return nil, err
	}
	return &crdevalv1.CheckCrdResponse{Accepted: m.GetAccepted(), Report: m.GetReport(), Crd: m.GetCrd(), Outcome: m.GetOutcome()}, nil
}

// submission checks and converts a RegisterCrdRequest or a RegisterCrdsEntry.
func submission(ctx context.Context, r interface {
	GetManifest() *crdevalv1.Document
	GetConversion() *crdevalv1.Document
	GetEtag() string
	GetCreateOnly() bool
	GetAsStored() bool
	GetNotOlderThan() int64
	GetFieldValidation() crdevalv1.FieldValidation
}) (registry.Submission, error) {
	validation, err := enumValue("field_validation", r.GetFieldValidation(), fieldValidations)
	if err != nil {
		return registry.Submission{}, err
	}
	s := registry.Submission{
		Precondition: registry.Precondition{
			Etag: r.GetEtag(), CreateOnly: r.GetCreateOnly(), NotOlderThan: r.GetNotOlderThan(),
		},
		AsStored: r.GetAsStored(), FieldValidation: validation,
	}
	if s.Manifest, err = givenManifest(call.Of(ctx).Origins, r.GetManifest()); err != nil {
		return s, err
	}
	if s.Conversion, err = givenManifest(call.Of(ctx).Origins, r.GetConversion()); err != nil {
		return s, err
	}
	if s.Manifest.Absent() {
		return s, invalid("manifest", "manifest is required: a CustomResourceDefinition")
	}
	return s, s.Validate()
}

func registration(
	ctx context.Context, manifest *crdevalv1.Document, done registry.Registration,
) *crdevalv1.RegisterCrdResponse {
	m := &crdevalv1.RegisterCrdResponse{
		Accepted: done.Outcome != registry.Rejected, Report: report(done.Report), Crd: crd(done.CRD, false), Token: done.Token,
		Outcome: outcome(done.Outcome),
	}
	if of := call.Of(ctx).Origins; of != nil && m.Report != nil {
		m.Report.Warnings = slices.Concat(warnings(of.Warnings(manifest)), m.GetReport().GetWarnings())
	}
	return m
}

func outcome(o registry.Outcome) crdevalv1.RegistrationOutcome {
	return crdevalv1.RegistrationOutcome(crdevalv1.RegistrationOutcome_value["REGISTRATION_OUTCOME_"+string(o)])
}

// RegisterCrds registers CRDs in order.
func (s *registryService) RegisterCrds(
	ctx context.Context, r *crdevalv1.RegisterCrdsRequest,
) (*crdevalv1.RegisterCrdsResponse, error) {
	m := &crdevalv1.RegisterCrdsResponse{Results: make([]*crdevalv1.RegisterCrdsResult, len(r.GetEntries()))}
	var list []registry.Submission
	var indexes []int // of the results, for the elements of list
	for i, e := range r.GetEntries() {
		one, err := submission(ctx, e)
		if err != nil {
			m.Results[i] = &crdevalv1.RegisterCrdsResult{Result: &crdevalv1.RegisterCrdsResult_Error{Error: s.faults.status(ctx, err)}}
			continue
		}
		list, indexes = append(list, one), append(indexes, i)
	}
	done, token, err := s.registry.RegisterAll(ctx, r.GetCatalog(), list)
	if err != nil {
		return nil, err
	}
	var b budget
	b.reset(s.limits.maxDocumentBytes(), len(m.Results)*reservedResultBytes)
	for i := range done {
		m.Results[indexes[i]] = s.registerResult(ctx, &b, r.GetEntries()[indexes[i]].GetManifest(), &done[i])
		if done[i].Registration.Token != "" {
			m.Token = token
		}
	}
	return m, nil
}

// registerResult returns the result of an entry, shortened to the outcome if it does not fit in the response.
func (s *registryService) registerResult(
	ctx context.Context, b *budget, manifest *crdevalv1.Document, done *registry.Submitted,
) *crdevalv1.RegisterCrdsResult {
	if done.Err != nil {
		st := s.faults.status(ctx, done.Err)
		m := &crdevalv1.RegisterCrdsResult{Result: &crdevalv1.RegisterCrdsResult_Error{Error: st}}
		if e := (*registry.Error)(nil); errors.As(done.Err, &e) {
			m.Crd = bounded(e.Metadata["crd"], maxErrorBytes/8)
		}
		if !b.takeBeyond(m, reservedResultBytes) {
			st.Message = bounded(st.GetMessage(), reservedResultBytes/4)
			st.Details = nil
		}
		return m
	}
	full := registration(ctx, manifest, done.Registration)
	full.Report.Versions = nil
	result := &crdevalv1.RegisterCrdsResult_Registration{Registration: full}
	m := &crdevalv1.RegisterCrdsResult{Crd: bounded(done.Registration.Report.Name, maxErrorBytes/8), Result: result}
	if !b.takeBeyond(m, reservedResultBytes) {
		result.Registration = shortened(full)
	}
	return m
}

// shortened returns a registration without its long fields.
func shortened(full *crdevalv1.RegisterCrdResponse) *crdevalv1.RegisterCrdResponse {
	m := &crdevalv1.RegisterCrdResponse{
		Accepted: full.GetAccepted(), Outcome: full.GetOutcome(), Token: full.GetToken(),
		Report: &crdevalv1.CrdReport{Update: full.GetReport().GetUpdate()},
	}
	if c := full.GetCrd(); c != nil {
		m.Crd = &crdevalv1.Crd{
			Catalog: c.GetCatalog(), Name: c.GetName(), Revision: c.GetRevision(), Etag: c.GetEtag(), Generation: c.GetGeneration(),
		}
	}
	if r := full.GetReport().GetRejection(); r != nil {
		m.Report.Rejection = proto.CloneOf(r)
		m.Report.Rejection.Message = bounded(r.GetMessage(), reservedResultBytes/2)
	}
	return m
}

// GetCrd returns a CRD.
func (s *registryService) GetCrd(ctx context.Context, r *crdevalv1.GetCrdRequest) (*crdevalv1.GetCrdResponse, error) {
	if err := required("crd", r.GetCrd()); err != nil {
		return nil, err
	}
	full, err := isFull(r.GetView(), true)
	if err != nil {
		return nil, err
	}
	found, err := s.registry.CRD(ctx, r.GetCatalog(), r.GetCrd(), r.GetRevision(), r.GetAtLeast())
	return &crdevalv1.GetCrdResponse{Crd: crd(found, full)}, err
}

// ListCrds returns a page of the CRDs of a catalog.
func (s *registryService) ListCrds(ctx context.Context, r *crdevalv1.ListCrdsRequest) (*crdevalv1.ListCrdsResponse, error) {
	full, err := isFull(r.GetView(), false)
	if err != nil {
		return nil, err
	}
	page, err := s.registry.CRDs(ctx, r.GetCatalog(), registry.Page{
		Size: int(r.GetPageSize()), Token: r.GetPageToken(), WithManifest: full, MaxBytes: s.limits.maxDocumentBytes(),
		Grow: func(n int64) error { return reserveDocument(ctx, n) },
	}, r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	crds := convertAll(page.CRDs, func(c *registry.CRD) *crdevalv1.Crd { return crd(c, full) })
	return &crdevalv1.ListCrdsResponse{NextPageToken: page.Next, Token: page.Token, Crds: crds}, nil
}

// DeleteCrd removes a CRD.
func (s *registryService) DeleteCrd(ctx context.Context, r *crdevalv1.DeleteCrdRequest) (*crdevalv1.DeleteCrdResponse, error) {
	if err := required("crd", r.GetCrd()); err != nil {
		return nil, err
	}
	token, err := s.registry.Delete(ctx, r.GetCatalog(), r.GetCrd(), registry.Precondition{Etag: r.GetEtag(), NotOlderThan: r.GetNotOlderThan()})
	return &crdevalv1.DeleteCrdResponse{Token: token}, err
}

// SetStoredVersions replaces status.storedVersions of a CRD.
func (s *registryService) SetStoredVersions(
	ctx context.Context, r *crdevalv1.SetStoredVersionsRequest,
) (*crdevalv1.SetStoredVersionsResponse, error) {
	versions := r.GetStoredVersions()
	if err := required("crd", r.GetCrd()); err != nil {
		return nil, err
	}
	done, err := s.registry.SetStoredVersions(ctx, r.GetCatalog(), r.GetCrd(), versions, r.GetEtag())
	return &crdevalv1.SetStoredVersionsResponse{Crd: crd(done.CRD, false), Token: done.Token}, err
}

// isFull reports whether a view includes manifests.
func isFull(v crdevalv1.CrdView, byDefault bool) (bool, error) {
	return enumValue("view", v, []bool{byDefault, false, true})
}

// CreateCatalog creates an empty catalog.
func (s *registryService) CreateCatalog(
	ctx context.Context, r *crdevalv1.CreateCatalogRequest,
) (*crdevalv1.CreateCatalogResponse, error) {
	c, token, err := s.registry.CreateCatalog(ctx, r.GetCatalog(), r.GetKubernetes())
	return &crdevalv1.CreateCatalogResponse{Catalog: catalog(&c), Token: token}, err
}

// GetCatalog returns a catalog.
func (s *registryService) GetCatalog(ctx context.Context, r *crdevalv1.GetCatalogRequest) (*crdevalv1.GetCatalogResponse, error) {
	c, err := s.registry.Catalog(ctx, r.GetCatalog(), r.GetAtLeast())
	return &crdevalv1.GetCatalogResponse{Catalog: catalog(&c)}, err
}

// ListCatalogs returns a page of the catalogs in which the caller has a role.
func (s *registryService) ListCatalogs(
	ctx context.Context, r *crdevalv1.ListCatalogsRequest,
) (*crdevalv1.ListCatalogsResponse, error) {
	p := registry.Page{Size: int(r.GetPageSize()), Token: r.GetPageToken()}
	if caller := call.Of(ctx).Identity; s.visible != nil {
		p.Visible = func(name string) bool { return s.visible(caller, name) }
	}
	page, err := s.registry.Catalogs(ctx, p, r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	return &crdevalv1.ListCatalogsResponse{
		NextPageToken: page.Next, Token: page.Token, Catalogs: convertAll(page.Catalogs, catalog),
	}, nil
}

// DeleteCatalog removes a catalog.
func (s *registryService) DeleteCatalog(
	ctx context.Context, r *crdevalv1.DeleteCatalogRequest,
) (*crdevalv1.DeleteCatalogResponse, error) {
	token, crds, err := s.registry.DeleteCatalog(ctx, r.GetCatalog(), r.GetForce(), r.GetEtag())
	return &crdevalv1.DeleteCatalogResponse{Token: token, DeletedCrds: int32(crds)}, err
}
