package main

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/message"
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

// registerCRD has the service check a CRD, which later requests bring.
func (s *service) registerCRD(ctx context.Context, crd *workspace.Manifest, r registration) *crdReport {
	if crd.Err != nil {
		j := newReport(crd)
		j.fail(crd.Err)
		return j
	}
	if other := s.given.crd(crd.Name); other != nil && !r.apart {
		j := newReport(crd)
		j.Error, j.Line = fmt.Sprintf("%s has a CRD of the same name, %s: with --server, check them in separate runs",
			where(other), crd.Name), crd.Line()
		return j
	}
	j, err := s.checkCRD(ctx, crd, r.validation)
	if err != nil {
		j.Error, j.Line, _ = crd.Describe(err)
		return j
	}
	if j.Accepted {
		s.given.crds = append(s.given.crds, crd)
	}
	return j
}

// checkCRD has the service check a CRD, without registering it. After an error, the report has only the CRD.
func (s *service) checkCRD(
	ctx context.Context, crd *workspace.Manifest, v engine.FieldValidation,
) (*crdReport, error) {
	j := newReport(crd)
	answer, err := s.Registry().CheckCrd(ctx, &crdevalv1.CheckCrdRequest{
		Catalog: s.catalog, Manifest: message.Document(crd.Document), FieldValidation: message.FieldValidation(v),
	})
	if err != nil {
		return j, s.manifestError(err)
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
	return j, nil
}

// setConversion has the service check conversion rules, which later requests bring.
func (s *service) setConversion(ctx context.Context, rules *workspace.Manifest) *crdReport {
	var inline [][]byte
	if crd := s.given.crd(rules.CRD); crd != nil {
		inline = [][]byte{crd.JSON()}
	}
	j, err := s.checkRules(ctx, rules, inline)
	if err != nil {
		if j.Error, j.Line, _ = rules.Describe(err); j.Line == 0 {
			j.Line = rules.Line()
		}
		return j
	}
	if j.Accepted {
		s.given.rules = append(s.given.rules, rules)
	}
	return j
}

// checkRules has the service check conversion rules, without setting them. For a CRD among inline documents, it checks
// only whether the rules fit. After an error, the report has only the name of the CRD.
func (s *service) checkRules(ctx context.Context, rules *workspace.Manifest, inline [][]byte) (*crdReport, error) {
	j := newReport(rules)
	j.Name = rules.CRD
	if len(inline) > 0 {
		_, err := s.Evaluation().Validate(ctx, &crdevalv1.ValidateRequest{
			Context: s.evaluationContext(nil, append(inline, rules.JSON())...)})
		j.Accepted = err == nil
		return j, s.manifestError(err)
	}
	answer, err := s.Registry().SetConversion(ctx, &crdevalv1.SetConversionRequest{
		Catalog: s.catalog, Crd: rules.CRD, Rules: message.Document(rules.Document), ValidateOnly: true})
	if err != nil {
		return j, s.manifestError(err)
	}
	j.Accepted = answer.GetAccepted()
	j.takeConversion(answer.GetReport())
	locateAll(rules, answer.GetReport().GetViolations())
	return j, nil
}
