package api

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// resultRoom is what the result of an entry takes of an answer when all was left out of it that can be; the answer keeps it free for each.
const resultRoom = 2 << 10

// RegisterCrds judges and, as far as they are accepted, keeps CRDs, one after the other.
func (s *registryService) RegisterCrds(ctx context.Context, r *crdevalv1.RegisterCrdsRequest) (*crdevalv1.RegisterCrdsResponse, error) {
	if len(r.GetEntries()) > s.limits.MaxRegisterCrds { // first of all: the codec has cut off what follows
		return nil, s.faults.call(ctx, tooMany("entries", "max_register_crds", s.limits.MaxRegisterCrds))
	}
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	answer := &crdevalv1.RegisterCrdsResponse{Results: make([]*crdevalv1.RegisterCrdsResult, len(r.GetEntries()))}
	// Entries that are wrong in themselves do not reach the registry; the others keep their order.
	var list []registry.Submission
	var at []int
	for i, e := range r.GetEntries() {
		submission := registry.Submission{
			Manifest: given(e.GetManifest()), Precondition: registry.Precondition{Etag: e.GetEtag(), CreateOnly: e.GetCreateOnly()},
		}
		if err := checkSubmission(submission); err != nil {
			answer.Results[i] = &crdevalv1.RegisterCrdsResult{Result: &crdevalv1.RegisterCrdsResult_Error{Error: s.faults.status(ctx, err)}}
			continue
		}
		list, at = append(list, submission), append(at, i)
	}
	done, token, err := s.registry.RegisterAll(ctx, r.GetCatalog(), list)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	room := budget{}
	room.resetTo(s.limits.MaxMessageBytes-s.limits.MaxMessageBytes/roomForFields, len(answer.Results)*resultRoom)
	for i := range done {
		answer.Results[at[i]] = s.submitted(ctx, &room, &done[i])
		if done[i].Registration.Token != "" {
			answer.Token = token
		}
	}
	return answer, nil
}

// checkSubmission says what is wrong with an entry before anybody reads its manifest.
func checkSubmission(s registry.Submission) error {
	switch {
	case s.Manifest.Absent():
		return invalid("manifest", "manifest is required: the CustomResourceDefinition to register")
	case s.Precondition.CreateOnly && s.Precondition.Etag != "":
		return invalid("create_only", "create_only and etag exclude each other: what does not exist yet has no etag")
	}
	return nil
}

// submitted spells what became of an entry. Where the answer has no room for it, only what matters most is left: a registration that happened
// must be told.
func (s *registryService) submitted(ctx context.Context, room *budget, done *registry.Submitted) *crdevalv1.RegisterCrdsResult {
	if done.Err != nil {
		st := s.faults.status(ctx, done.Err)
		m := &crdevalv1.RegisterCrdsResult{Crd: nameIn(done.Err), Result: &crdevalv1.RegisterCrdsResult_Error{Error: st}}
		if !room.takeBeyond(m, resultRoom) {
			st.Message = bounded(st.GetMessage(), resultRoom/4)
			st.Details = nil
		}
		return m
	}
	full := registered(done.Registration)
	full.Report.Versions = nil
	m := &crdevalv1.RegisterCrdsResult{Crd: bounded(done.Registration.Report.Name, maxErrorBytes/8), Result: &crdevalv1.RegisterCrdsResult_Registration{Registration: full}}
	if room.takeBeyond(m, resultRoom) {
		return m
	}
	m.Result = &crdevalv1.RegisterCrdsResult_Registration{Registration: shortened(full)}
	return m
}

// nameIn is the name of the CRD that an error of the registry is about, "" if that is not known.
func nameIn(err error) string {
	var e *registry.Error
	if errors.As(err, &e) {
		return bounded(e.Metadata["crd"], maxErrorBytes/8)
	}
	return ""
}

// shortened is a registration without what makes it long.
func shortened(full *crdevalv1.RegisterCrdResponse) *crdevalv1.RegisterCrdResponse {
	m := &crdevalv1.RegisterCrdResponse{
		Accepted: full.GetAccepted(), Outcome: full.GetOutcome(), Token: full.GetToken(), Report: &crdevalv1.CrdReport{Update: full.GetReport().GetUpdate()},
	}
	if c := full.GetCrd(); c != nil {
		m.Crd = &crdevalv1.Crd{Catalog: c.GetCatalog(), Name: c.GetName(), Revision: c.GetRevision(), Etag: c.GetEtag(), Generation: c.GetGeneration()}
	}
	if refusal := full.GetReport().GetRejection(); refusal != nil {
		m.Report.Rejection = proto.CloneOf(refusal)
		m.Report.Rejection.Message = bounded(refusal.GetMessage(), resultRoom/2)
	}
	return m
}

// registered spells a registration.
func registered(done registry.Registration) *crdevalv1.RegisterCrdResponse {
	return &crdevalv1.RegisterCrdResponse{
		Accepted: done.Report.Accepted, Report: report(done.Report), Crd: crd(done.CRD, false), Token: done.Token, Outcome: registrationOutcomes[done.Outcome],
	}
}

var registrationOutcomes = map[registry.Outcome]crdevalv1.RegistrationOutcome{
	registry.Created:   crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_CREATED,
	registry.Updated:   crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_UPDATED,
	registry.Unchanged: crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_UNCHANGED,
	registry.Rejected:  crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_REJECTED,
}

// SetStoredVersions replaces the versions in which objects of a CRD may be stored.
func (s *registryService) SetStoredVersions(ctx context.Context, r *crdevalv1.SetStoredVersionsRequest) (*crdevalv1.SetStoredVersionsResponse, error) {
	if err := needed(field{"catalog", r.GetCatalog()}, field{"crd", r.GetCrd()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	switch n := len(r.GetStoredVersions()); {
	case n > maxStoredVersions:
		return nil, s.faults.call(ctx, tooMany("stored_versions", "max_stored_versions", maxStoredVersions))
	case n == 0:
		return nil, s.faults.call(ctx, invalid("stored_versions", "stored_versions is required: at least the storage version"))
	}
	c, token, err := s.registry.SetStoredVersions(ctx, r.GetCatalog(), r.GetCrd(), r.GetStoredVersions(), r.GetEtag())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.SetStoredVersionsResponse{Crd: crd(c, false), Token: token}, nil
}
