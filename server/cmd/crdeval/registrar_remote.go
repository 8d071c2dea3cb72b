package main

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// inlineCRDs are the accepted CRDs and conversion rules of a run, which the service does not register.
type inlineCRDs struct {
	crds, rules []*workspace.Manifest
}

// crd returns the CRD with a name, or nil.
func (g *inlineCRDs) crd(name string) *workspace.Manifest {
	for _, crd := range g.crds {
		if crd.Name == name {
			return crd
		}
	}
	return nil
}

// documents returns what a request brings.
func (g *inlineCRDs) documents() (all [][]byte) {
	for _, crd := range g.crds {
		all = append(all, crd.JSON())
	}
	for _, rules := range g.rules {
		all = append(all, rules.JSON())
	}
	return all
}

// evaluationContext returns the context of a request with these options that brings documents.
func (s *service) evaluationContext(o *crdevalv1.EvaluationOptions, inline ...[]byte) *crdevalv1.EvaluationContext {
	c := &crdevalv1.EvaluationContext{Catalog: s.catalog, Options: o}
	for _, document := range inline {
		c.Crds = append(c.Crds, crdeval.Document(document))
	}
	return c
}

// client returns a client whose requests bring the CRDs of the run.
func (s *service) client() *crdeval.Client { return s.With(s.given.documents()...) }

// registerCRD has the service check a CRD, which later requests bring. It registers nothing.
func (s *service) registerCRD(ctx context.Context, crd *workspace.Manifest, r registration) *crdReport {
	j := newReport(crd)
	if crd.Err != nil {
		j.fail(crd.Err)
		return j
	}
	if other := s.given.crd(crd.Name); other != nil && !r.apart {
		j.Error, j.Line = fmt.Sprintf("%s has a CRD of the same name, %s: with --server, check them in separate runs",
			where(other), crd.Name), crd.Line()
		return j
	}
	answer, err := s.Registry().CheckCrd(ctx, &crdevalv1.CheckCrdRequest{
		Catalog: s.catalog, Manifest: toDocument(crd.Document), FieldValidation: fieldValidationMessages[r.validation],
	})
	if err != nil {
		j.Error, j.Line, _ = crd.Describe(s.manifestError(err))
		return j
	}
	j.Name, j.Accepted = crd.Name, answer.GetAccepted()
	j.takeReport(answer.GetReport())
	locateAll(crd, answer.GetReport().GetViolations())
	for _, w := range answer.GetReport().GetWarnings() {
		w.Position = locate(crd, w.GetPointer(), w.GetPosition())
	}
	for _, c := range answer.GetCrd().GetStatus().GetConditions() {
		if c.GetType() == string(apiextensionsv1.NamesAccepted) && c.GetStatus() != string(apiextensionsv1.ConditionTrue) {
			j.takeNames(c)
		}
	}
	if j.Accepted {
		s.given.crds = append(s.given.crds, crd)
	}
	return j
}

// setConversion has the service check conversion rules, which later requests bring. For a CRD of the run, it checks only
// whether the rules fit.
func (s *service) setConversion(ctx context.Context, rules *workspace.Manifest) *crdReport {
	j := newReport(rules)
	j.Name = rules.CRD
	answer, err := s.checkRules(ctx, rules)
	if err != nil {
		if j.Error, j.Line, _ = rules.Describe(s.manifestError(err)); j.Line == 0 {
			j.Line = rules.Line()
		}
		return j
	}
	j.Accepted = answer.GetAccepted()
	j.takeConversion(answer.GetReport())
	locateAll(rules, answer.GetReport().GetViolations())
	if j.Accepted {
		s.given.rules = append(s.given.rules, rules)
	}
	return j
}

func (s *service) checkRules(
	ctx context.Context, rules *workspace.Manifest,
) (*crdevalv1.SetConversionResponse, error) {
	crd := s.given.crd(rules.CRD)
	if crd == nil {
		return s.Registry().SetConversion(ctx, &crdevalv1.SetConversionRequest{
			Catalog: s.catalog, Crd: rules.CRD, Rules: toDocument(rules.Document), ValidateOnly: true})
	}
	_, err := s.Evaluation().Validate(ctx, &crdevalv1.ValidateRequest{
		Context: s.evaluationContext(nil, crd.JSON(), rules.JSON())})
	return &crdevalv1.SetConversionResponse{Accepted: err == nil}, err
}
