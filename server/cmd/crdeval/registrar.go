package main

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/cmd/crdeval/catalog"
	"github.com/crdeval/crdeval/server/registry"
)

// registrar takes the CRDs and the conversion rules of a run, and reports what an API server answers to them.
type registrar interface {
	registerCRD(ctx context.Context, crd *workspace.Manifest, r registration) *crdReport
	setConversion(ctx context.Context, rules *workspace.Manifest) *crdReport
	close()
}

// registration says how a CRD is registered.
type registration struct {
	adopts     bool // with the status in the file, as a cluster has it, and without a check
	apart      bool // not as an update of another CRD of the run
	validation engine.FieldValidation
}

// evaluation evaluates for all commands but admit: in this process, or with the service of --server.
type evaluation interface {
	publisher
	transformer
	comparer
	tester
}

// open returns what the flags select. The caller closes it.
func (f *serviceFlags) open() (evaluation, error) {
	if f.Server == "" {
		return newLocal(string(f.Kubernetes)), nil
	}
	return f.dial()
}

// local evaluates with the engine in this process.
type local struct {
	kubernetes string
	catalog    *catalog.Catalog
}

// testedObjects is the number of generated objects on which the laws of the rules of files are tested, for each pair of
// versions and direction. Tests of other subjects use fewer.
var testedObjects = registry.TestedObjects

func newLocal(kubernetes string) *local { return &local{kubernetes, catalog.New(kubernetes)} }

func (*local) close() {}

func (l *local) registerCRD(ctx context.Context, crd *workspace.Manifest, r registration) *crdReport {
	j := newReport(crd)
	var report *engine.Report
	var of *catalog.CRD
	var err error
	if r.adopts {
		of, err = l.catalog.Adopt(ctx, crd.Document)
		report = &engine.Report{Accepted: true}
	} else {
		report, of, err = l.catalog.Register(ctx, crd.Document,
			catalog.Registration{FieldValidation: r.validation, Apart: r.apart})
	}
	if err != nil {
		j.fail(localError(ctx, err))
		return j
	}
	j.Name, j.Accepted = crd.Name, report.Accepted
	j.takeReport(api.ReportMessage(report))
	if of == nil {
		return j
	}
	for _, c := range of.Existing.Status.Conditions {
		if c.Type == apiextensionsv1.NamesAccepted && c.Status != apiextensionsv1.ConditionTrue {
			j.takeNames(api.ConditionMessage(&c))
		}
	}
	return j
}

func (l *local) setConversion(ctx context.Context, rules *workspace.Manifest) *crdReport {
	j := newReport(rules)
	j.Name = rules.CRD
	report, err := l.catalog.SetConversion(ctx, rules.CRD, rules.Document, testedObjects)
	if err != nil {
		j.fail(localError(ctx, err))
		return j
	}
	j.Accepted = report.Accepted
	j.takeConversion(api.ConversionReportMessage(report))
	return j
}

// givenRules are the conversion rules of a run, by the name of their CRD.
type givenRules map[string]*workspace.Manifest

// add adds rules. It is an error if their CRD has other rules.
func (g givenRules) add(rules *workspace.Manifest) error {
	if other := g[rules.CRD]; other != nil {
		return fmt.Errorf("%s has conversion rules for the same CRD: remove one of the documents", where(other))
	}
	g[rules.CRD] = rules
	return nil
}

// set adds rules and sets them.
func (g givenRules) set(ctx context.Context, r registrar, rules *workspace.Manifest) *crdReport {
	if err := g.add(rules); err != nil {
		j := newReport(rules)
		j.Name = rules.CRD
		j.fail(err)
		return j
	}
	return r.setConversion(ctx, rules)
}
