package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/suite/mutation"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/suiterun"
)

// tester evaluates the tests of suites.
type tester interface {
	registrar
	// evaluator returns the evaluator for registered CRDs. names has those of the suite by kind.
	evaluator(names map[schema.GroupKind]string) suite.Evaluator
}

// evaluators are the evaluators of a run, by their CRDs. Many suites have the same CRDs.
type evaluators struct {
	flags    *serviceFlags
	kept     map[string]*suiteEvaluator
	coverage *suiterun.Coverage // nil: rules are not traced
	opened   func(file string)
}

// maxEvaluators bounds the evaluators that are kept between suites.
const maxEvaluators = 8

// Trim closes the evaluators if there are many. None may be in use.
func (e *evaluators) Trim() {
	if len(e.kept) > maxEvaluators {
		e.close()
	}
}

func (e *evaluators) close() {
	for _, of := range e.kept {
		of.with.close()
	}
	e.kept = nil
}

// Open returns an evaluator for the CRDs of files.
func (e *evaluators) Open(ctx context.Context, files []suite.CRDs) (suite.Evaluator, error) {
	var key string
	for _, f := range files {
		e.opened(f.File)
		key += f.File + "\x00" + string(f.Text) + "\x00"
	}
	if known := e.kept[key]; known != nil {
		return known, nil
	}
	with, err := e.flags.open()
	if err != nil {
		return nil, err
	}
	of := &suiteEvaluator{with: with, names: map[schema.GroupKind]string{}, coverage: e.coverage,
		schemas: map[schema.GroupKind]*mutation.CoverageOf{}}
	if err := e.register(ctx, of, files); err != nil {
		with.close()
		return nil, err
	}
	of.Evaluator = with.evaluator(of.names)
	if e.kept == nil {
		e.kept = map[string]*suiteEvaluator{}
	}
	e.kept[key] = of
	return of, nil
}

// register registers the CRDs of files.
func (e *evaluators) register(ctx context.Context, of *suiteEvaluator, files []suite.CRDs) error {
	for _, f := range files {
		if err := of.register(ctx, f); err != nil {
			return err
		}
	}
	if e.coverage == nil {
		return nil
	}
	return of.cover(ctx, files, engine.Options{Kubernetes: string(e.flags.Kubernetes)})
}

// suiteEvaluator evaluates the tests of a suite, and counts what they reach.
type suiteEvaluator struct {
	suite.Evaluator
	with     tester
	names    map[schema.GroupKind]string // of the CRDs of the suite
	coverage *suiterun.Coverage
	schemas  map[schema.GroupKind]*mutation.CoverageOf // empty without coverage
}

// cover adds the schemas of the CRDs of files to the coverage.
func (e *suiteEvaluator) cover(ctx context.Context, files []suite.CRDs, o engine.Options) error {
	definitions, err := suite.Compile(ctx, files, o)
	if err != nil {
		return err
	}
	for _, d := range definitions {
		if e.schemas[schema.GroupKind{Group: d.Group(), Kind: d.Kind()}], err = e.coverage.Schemas.Of(d, o); err != nil {
			return err
		}
	}
	return nil
}

// register registers the CRDs of a file.
func (e *suiteEvaluator) register(ctx context.Context, f suite.CRDs) error {
	for _, s := range workspace.Parse(workspace.Source{Name: f.File}, f.Text, 0).Manifests {
		if c := s.AsCRD(); s.Err == nil && (c == nil || c.IsFragment()) {
			continue
		}
		switch j := e.with.registerCRD(ctx, s, registration{adopts: s.AsCRD().Established}); {
		case j.Error != "":
			return &suite.Error{File: f.File, Line: max(j.Line, s.Line()), Message: j.Error}
		case !j.Accepted:
			line := s.Line()
			var violations []string
			for i, v := range j.Report.message.GetViolations() {
				if i == 0 {
					line = max(line, int(v.GetPosition().GetLine()))
				}
				violations = append(violations, positionText(f.File, v.GetPosition())+": "+violationText(v))
			}
			return suite.RejectedCRD(f.File, line, j.Report.message.GetRejection().GetMessage(), violations)
		case e.names[schema.GroupKind{Group: s.AsCRD().Group, Kind: s.AsCRD().ObjectKind}] == "":
			e.coverage.Register(j.Name, j.Report.message)
			e.names[schema.GroupKind{Group: s.AsCRD().Group, Kind: s.AsCRD().ObjectKind}] = j.Name
		}
	}
	return nil
}

// Admit evaluates a write, and counts the outcomes of its rules.
func (e *suiteEvaluator) Admit(
	ctx context.Context, apiVersion, kind string, w engine.Write, o engine.AdmitOptions,
) (*engine.Verdict, error) {
	if e.coverage == nil {
		return e.Evaluator.Admit(ctx, apiVersion, kind, w, o)
	}
	o.Trace = rules.TraceAll
	a, err := e.Evaluator.Admit(ctx, apiVersion, kind, w, o)
	if err != nil {
		return nil, err
	}
	of := schema.GroupKind{Group: workspace.GroupOf(apiVersion), Kind: kind}
	if name := e.names[of]; name != "" {
		e.coverage.Add(name, workspace.VersionOf(apiVersion), a.Traces, a.OmittedTraces)
	}
	if c := e.schemas[of]; c != nil {
		if err := c.Add(ctx, apiVersion, w, a); err != nil {
			return nil, fmt.Errorf("coverage: %w", err)
		}
	}
	return a, nil
}

func (l *local) evaluator(names map[schema.GroupKind]string) suite.Evaluator {
	var definitions []*engine.Definition
	for _, name := range names {
		definitions = append(definitions, l.catalog.Named(name).Definition)
	}
	return suite.NewEvaluator(definitions...)
}
