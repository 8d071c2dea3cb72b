package main

import (
	"context"
	"fmt"
	"slices"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// setConversion sets the conversion rules of a document, if the service runs in this process. For a remote service, it
// only checks them. Later requests contain them inline.
func (s *service) setConversion(ctx context.Context, rules *workspace.Manifest) *crdReport {
	j := newReport(rules)
	j.Name = rules.CRD
	if other := s.converted[j.Name]; other != nil {
		j.Error, j.Line = fmt.Sprintf("%s has conversion rules for the same CRD: remove one of the documents", other.Where()), rules.Line()
		return j
	}
	s.converted[j.Name] = rules
	answer, err := s.sendConversion(ctx, rules)
	if err != nil {
		if j.Error, j.Line, _ = rules.Describe(s.manifestError(err)); j.Line == 0 {
			j.Line = rules.Line()
		}
		return j
	}
	j.Accepted, j.Conversion.message = answer.GetAccepted(), answer.GetReport()
	locateAll(rules, j.Conversion.message.GetViolations())
	return j
}

// sendConversion sends conversion rules to the service. For an inline CRD, a remote service only checks whether the
// rules fit.
func (s *service) sendConversion(ctx context.Context, rules *workspace.Manifest) (*crdevalv1.SetConversionResponse, error) {
	request := &crdevalv1.SetConversionRequest{
		Catalog: s.catalog, Crd: rules.CRD, Rules: toDocument(rules.Document), ValidateOnly: s.local == nil,
	}
	if s.local != nil {
		return s.Registry().SetConversion(ctx, request)
	}
	answer := &crdevalv1.SetConversionResponse{Accepted: true}
	var err error
	if s.inlineCRDs[rules.CRD] {
		crds := &crdevalv1.ValidateRequest{Catalog: s.catalog}
		for _, crd := range append(slices.Clone(s.inline), rules.JSON()) {
			crds.Crds = append(crds.Crds, crdeval.Document(crd))
		}
		_, err = s.Evaluation().Validate(ctx, crds)
	} else {
		answer, err = s.Registry().SetConversion(ctx, request)
	}
	if err == nil && answer.GetAccepted() {
		s.inline = append(s.inline, rules.JSON())
	}
	return answer, err
}

// conversionLines returns lines of text about the violations of conversion rules and the laws that they break.
func (j *crdReport) conversionLines() (lines []string) {
	for _, v := range j.Conversion.message.GetViolations() {
		lines = append(lines, positionText(j.File, v.GetPosition())+": "+violationText(v))
	}
	for _, text := range j.brokenLaws() {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", j.File, j.source.Line(), text))
	}
	return lines
}

// brokenLaws describes the laws that conversion rules break.
func (j *crdReport) brokenLaws() (texts []string) {
	for _, law := range j.Conversion.message.GetLaws() {
		if e := law.GetCounterexample(); e != nil && !law.GetExcepted() {
			texts = append(texts, fmt.Sprintf("the law %q does not hold from %s to %s. %s Object: %s",
				law.GetLaw(), law.GetFromVersion(), law.GetToVersion(), e.GetText(), e.GetObject().GetJson()))
		}
	}
	return texts
}
