package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// registry judges CRDs as they are registered, one after the other.
type registry interface {
	// check judges a CRD, and takes it as registered from then on if it is accepted.
	check(ctx context.Context, s *source, j *judgement)
}

// check judges a CRD in this process.
func (c *catalog) check(ctx context.Context, s *source, j *judgement) {
	report, err := engine.Check(ctx, s.Document, c.options())
	if err != nil {
		j.Error, j.Line, _ = s.InFile(err)
		return
	}
	j.report(s, report)
	if report.Accepted {
		if j.Names, err = c.registered(ctx, s); err != nil {
			j.Error, j.Line, _ = s.InFile(err)
		}
	}
}

// serviceRegistry has a service judge CRDs as what is registered there has it. It registers nothing, so that a CRD of the same run is nothing to another.
type serviceRegistry struct {
	client  *crdeval.Client
	flags   *serviceFlags
	checked map[string]string // where each name was accepted in this run
}

func (r *serviceRegistry) check(ctx context.Context, s *source, j *judgement) {
	name := s.identity().Metadata.Name
	if where := r.checked[name]; where != "" {
		j.Error, j.Line = fmt.Sprintf("%s has a CRD of this name, %s, which a service judges by what is registered there alone: check them one after the other, or without --server", where, name), s.Begin()
		return
	}
	answer, err := r.client.Registry().CheckCrd(ctx, &crdevalv1.CheckCrdRequest{Catalog: r.flags.Catalog, Manifest: sent(s.Document)})
	if err != nil {
		j.Error, j.Line, _ = s.InFile(errorAt(r.flags.Server, err))
		return
	}
	j.report(s, reportAt(answer, name))
	j.Names = namesAt(answer.GetCrd())
	if j.Accepted {
		r.checked[name] = s.where()
	}
}

// errorAt is an error about a manifest as this process would have it; others are worded.
func errorAt(address string, err error) error {
	st := status.Convert(err)
	for _, detail := range st.Details() {
		info, is := detail.(*errdetails.ErrorInfo)
		if !is || info.GetReason() != "MANIFEST_UNREADABLE" {
			continue
		}
		e := &engine.Error{Reason: engine.ReasonManifestUnreadable, Message: st.Message()}
		line, _ := strconv.Atoi(info.GetMetadata()["line"])
		column, _ := strconv.Atoi(info.GetMetadata()["column"])
		if line > 0 {
			e.Position = &engine.Position{Line: line, Column: column}
		}
		return e
	}
	return told(address, "", err)
}

// reportAt is a report on its way back.
func reportAt(answer *crdevalv1.CheckCrdResponse, name string) *engine.Report {
	r := answer.GetReport()
	out := &engine.Report{
		Name: name, Update: r.GetUpdate(), Accepted: answer.GetAccepted(), Refusal: refusalAt(r.GetRejection()), Violations: violationsAt(r.GetViolations()), Warnings: r.GetWarnings(),
		LowestMinor: int(r.GetLowestMinor()), LowestMinorBecause: r.GetLowestMinorReason(),
	}
	for _, v := range r.GetVersions() {
		is := v.GetVersion()
		version := engine.VersionInfo{
			Name: is.GetName(), Served: is.GetServed(), Storage: is.GetStorage(), Deprecated: is.GetDeprecated(), DeprecationWarning: is.GetDeprecationWarning(),
			HasStatus: slices.Contains(is.GetSubresources(), "status"), HasScale: slices.Contains(is.GetSubresources(), "scale"),
			LowestMinor: int(v.GetLowestMinor()), LowestMinorBecause: v.GetLowestMinorReason(), EstimatedCost: v.GetEstimatedCost(), CostLimit: v.GetCostLimit(),
		}
		for _, rule := range v.GetRules() {
			version.Rules = append(version.Rules, ruleAt(rule))
		}
		out.Versions = append(out.Versions, version)
	}
	return out
}

func ruleAt(r *crdevalv1.RuleReport) engine.RuleReport {
	out := engine.RuleReport{
		SchemaPointer: r.GetSchemaPointer(), Text: r.GetRule().GetRule(), Reason: r.GetRule().GetReason(), Index: int(r.GetRule().GetIndex()),
		EstimatedCost: r.GetEstimatedCost(), Cardinality: r.GetCardinality(), MessageEstimatedCost: r.GetMessageEstimatedCost(), Limit: r.GetLimit(), ShareOfLimit: r.GetShareOfLimit(),
		UsesOldSelf: r.GetUsesOldSelf(), LowestMinor: int(r.GetLowestMinor()), LowestMinorBecause: r.GetLowestMinorReason(),
	}
	for _, c := range r.GetCulprits() {
		out.Culprits = append(out.Culprits, engine.CostCulprit{SchemaPointer: c.GetSchemaPointer(), Keyword: c.GetKeyword(), Suggested: c.GetSuggested()})
	}
	return out
}

// namesAt is the condition NamesAccepted if that does not hold.
func namesAt(crd *crdevalv1.Crd) *condition {
	for _, c := range crd.GetStatus().GetConditions() {
		if c.GetType() == string(apiextensionsv1.NamesAccepted) && c.GetStatus() != string(apiextensionsv1.ConditionTrue) {
			return &condition{Status: c.GetStatus(), Reason: c.GetReason(), Message: c.GetMessage()}
		}
	}
	return nil
}
