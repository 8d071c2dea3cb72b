package api

import (
	"context"

	"github.com/crdeval/crdeval/engine/convert"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// SetConversion sets or removes the conversion rules of a CRD.
func (s *registryService) SetConversion(
	ctx context.Context, r *crdevalv1.SetConversionRequest,
) (*crdevalv1.SetConversionResponse, error) {
	if err := required("crd", r.GetCrd()); err != nil {
		return nil, err
	}
	rules, err := givenManifest(call.Of(ctx).Origins, r.GetRules())
	if err != nil {
		return nil, err
	}
	done, err := s.registry.SetConversion(ctx, r.GetCatalog(), r.GetCrd(), registry.ConversionChange{
		Rules: rules, Etag: r.GetEtag(), ValidateOnly: r.GetValidateOnly(),
	})
	if err != nil {
		return nil, err
	}
	m := &crdevalv1.SetConversionResponse{
		Accepted: done.Outcome != registry.Rejected, Report: conversionReport(done.Report.Conversion), Crd: crd(done.CRD, false),
		Token: done.Token, Outcome: outcome(done.Outcome),
	}
	if m.GetReport() == nil { // the rules are removed
		m.Report = &crdevalv1.ConversionReport{Accepted: true}
	}
	return m, nil
}

// conversionReport returns nil if there are no rules.
func conversionReport(r *convert.Report) *crdevalv1.ConversionReport {
	if r == nil {
		return nil
	}
	return &crdevalv1.ConversionReport{
		Accepted: r.Accepted, Violations: violations(r.Violations), Hub: valid(r.Hub),
		Rules: convertAll(r.Rules, conversionRule), Laws: convertAll(r.Laws, conversionLaw),
		Coverage: convertAll(r.Coverage, conversionCoverage),
	}
}

func conversionRule(r *convert.Rule) *crdevalv1.ConversionRule {
	return &crdevalv1.ConversionRule{
		Between: r.Between[:], Index: int32(r.Index), Kind: r.Kind, Text: valid(r.Text), Preconditions: allValid(r.Preconditions),
		ChangeClass: crdevalv1.ConversionClass(crdevalv1.ConversionClass_value["CONVERSION_CLASS_"+string(r.Class)]),
	}
}

func conversionCoverage(c *convert.Coverage) *crdevalv1.ConversionCoverage {
	return &crdevalv1.ConversionCoverage{
		FromVersion: c.Between[0], ToVersion: c.Between[1], Carried: int32(c.Carried), Read: int32(c.Read), Stashed: int32(c.Stashed),
		Dropped: int32(c.Dropped),
	}
}

func conversionLaw(l *convert.Law) *crdevalv1.ConversionLaw {
	m := &crdevalv1.ConversionLaw{
		Law: l.Law, FromVersion: l.Between[0], ToVersion: l.Between[1], Objects: int32(l.Objects), Excepted: l.Excepted,
	}
	if l.Generated > 0 {
		m.Failures = &crdevalv1.ConversionFailures{
			Generated: int32(l.Generated), Unconverted: int32(l.Unconverted), Example: valid(l.Failure),
		}
	}
	if c := l.Counterexample; c != nil {
		m.Counterexample = &crdevalv1.ConversionCounterexample{
			Text: valid(c.Text), Object: JSON(c.Object), Converted: JSON(c.Converted), Back: JSON(c.Back),
		}
	}
	return m
}
