package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/mutation"
	"github.com/crdeval/crdeval/engine/suite"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/suiterun"
)

// evaluators are the services of a run, by their CRDs. Many suites have the same CRDs.
type evaluators struct {
	flags    *serviceFlags
	kept     map[string]*suiteEvaluator
	coverage *suiterun.Coverage // nil: rules are not traced
	opened   func(file string)
}

// maxEvaluators bounds the services that are kept between suites.
const maxEvaluators = 8

// Trim closes the services if there are many. No evaluator may be in use.
func (e *evaluators) Trim() {
	if len(e.kept) > maxEvaluators {
		e.close()
	}
}

func (e *evaluators) close() {
	for _, of := range e.kept {
		of.close()
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
	s, err := e.flags.connect()
	if err != nil {
		return nil, err
	}
	of := &suiteEvaluator{service: s, names: map[groupKind]string{}, coverage: e.coverage,
		schemas: map[groupKind]*mutation.CoverageOf{}}
	for _, f := range files {
		if err := of.register(ctx, f); err != nil {
			s.close()
			return nil, err
		}
	}
	if e.coverage != nil {
		if err := of.cover(ctx, files, engine.Options{KubernetesMinor: e.flags.KubernetesMinor}); err != nil {
			s.close()
			return nil, err
		}
	}
	if e.kept == nil {
		e.kept = map[string]*suiteEvaluator{}
	}
	e.kept[key] = of
	return of, nil
}

// suiteEvaluator evaluates the tests of a suite with a service.
type suiteEvaluator struct {
	*service
	names    map[groupKind]string // of the CRDs of the suite
	coverage *suiterun.Coverage
	schemas  map[groupKind]*mutation.CoverageOf // empty without coverage
}

// cover adds the schemas of the CRDs of files to the coverage.
func (e *suiteEvaluator) cover(ctx context.Context, files []suite.CRDs, o engine.Options) error {
	definitions, err := suite.Compile(ctx, files, o)
	if err != nil {
		return err
	}
	for _, d := range definitions {
		if e.schemas[groupKind{d.Group(), d.Kind()}], err = e.coverage.Schemas.Of(d, o); err != nil {
			return err
		}
	}
	return nil
}

// register registers the CRDs of a file.
func (e *suiteEvaluator) register(ctx context.Context, f suite.CRDs) error {
	for _, s := range input.SourcesOf(f.File, workspace.Split(f.Text)) {
		if !s.IsCRD() && s.Err == nil {
			continue
		}
		switch j := e.registerCRD(ctx, s, s.Established()); {
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
		case e.names[groupKind{s.CRDFields.Group, s.CRDFields.Kind}] == "":
			e.coverage.Register(j.Name, j.Report.message)
			e.names[groupKind{s.CRDFields.Group, s.CRDFields.Kind}] = j.Name
		}
	}
	return nil
}

// item returns an item for an object of a kind.
func (e *suiteEvaluator) item(apiVersion, kind string) (*crdevalv1.EvaluationItem, error) {
	sent := &crdevalv1.EvaluationItem{Crd: e.names[groupKind{input.GroupOf(apiVersion), kind}]}
	if e.local != nil && sent.GetCrd() == "" {
		return nil, fmt.Errorf("the suite has no CRD for %s (%s)", kind, apiVersion)
	}
	return sent, nil
}

// Admit evaluates a write.
func (e *suiteEvaluator) Admit(
	ctx context.Context, apiVersion, kind string, item engine.Item, o engine.EvaluationOptions,
) (*suite.Answer, error) {
	sent, err := e.item(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	sent.Subresource = item.Subresource
	if item.Patch != nil {
		sent.Patch = &crdevalv1.ObjectPatch{Type: patchTypes[item.Patch.Type], Patch: toDocument(item.Patch.Document)}
	} else {
		sent.Object = toDocument(item.Object)
	}
	if !item.OldObject.Absent() {
		sent.OldObject = toDocument(item.OldObject)
	}
	options := crdeval.AdmitOptions{Evaluation: evaluationOptions(o)}
	if e.coverage != nil {
		options.Evaluation.Trace = crdevalv1.TraceMode_TRACE_MODE_ALL
	}
	results, err := e.With(e.inline...).AdmitItems(ctx, []*crdevalv1.EvaluationItem{sent}, options)
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return nil, e.manifestError(err)
	}
	v := results[0].Verdict
	if e.coverage != nil && sent.GetCrd() != "" {
		e.coverage.Add(sent.GetCrd(), input.VersionOf(apiVersion), v.GetRuleTraces())
	}
	a := &suite.Answer{Allowed: v.GetAllowed(), Message: v.GetRejection().GetMessage(), Object: v.GetObject().GetJson(),
		Violations: violationsOf(v)}
	for _, w := range v.GetWarnings() {
		a.AddWarning(w.GetType(), w.GetText())
	}
	if of := e.schemas[groupKind{input.GroupOf(apiVersion), kind}]; of != nil {
		if err := of.Add(ctx, apiVersion, item, a); err != nil {
			return nil, fmt.Errorf("coverage: %w", err)
		}
	}
	return a, nil
}

func evaluationOptions(o engine.EvaluationOptions) *crdevalv1.EvaluationOptions {
	return &crdevalv1.EvaluationOptions{FieldValidation: fieldValidations[o.FieldValidation],
		CompleteMetadata: o.CompleteMetadata}
}

func violationsOf(v *crdevalv1.Verdict) (all []suite.Violation) {
	for _, of := range v.GetViolations() {
		all = append(all, suite.Violation{
			Type: of.GetType(), Field: of.GetField(), Message: of.GetMessage(), Pointer: of.GetPointer()})
	}
	return all
}

// CheckStored reads an object as an API server reads it from its storage, and validates it.
func (e *suiteEvaluator) CheckStored(
	ctx context.Context, apiVersion, kind string, object []byte,
) (all []suite.Violation, err error) {
	sent, err := e.item(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	sent.Object = crdeval.Document(object)
	read, err := e.With(e.inline...).ReadItems(ctx, []*crdevalv1.EvaluationItem{sent}, crdeval.ReadOptions{})
	if err == nil {
		err = read[0].Err
	}
	if err != nil {
		return nil, e.manifestError(err)
	}
	if rejection := read[0].GetRejection(); rejection != nil {
		return nil, errors.New(rejection.GetMessage())
	}
	for _, of := range read[0].GetChanges().GetPruned() {
		all = append(all, suite.UnknownField(of.GetPath(), of.GetPointer()))
	}
	sent.Object = read[0].GetObject()
	request := &crdevalv1.ValidateRequest{Catalog: e.Catalog(), Items: []*crdevalv1.EvaluationItem{sent},
		Options: evaluationOptions(suite.StoredOptions), AsGiven: suite.StoredOptions.AsGiven}
	for _, manifest := range e.inline {
		request.Crds = append(request.Crds, crdeval.Document(manifest))
	}
	answer, err := e.Evaluation().Validate(ctx, request)
	if err == nil {
		err = status.ErrorProto(answer.GetResults()[0].GetError())
	}
	if err != nil {
		return nil, e.manifestError(err)
	}
	v := answer.GetResults()[0].GetVerdict()
	if all = append(all, violationsOf(v)...); !v.GetAllowed() && len(all) == 0 {
		all = append(all, suite.Violation{Message: v.GetRejection().GetMessage()})
	}
	return all, nil
}

var patchTypes = map[engine.PatchType]crdevalv1.PatchType{
	engine.MergePatch: crdevalv1.PatchType_PATCH_TYPE_MERGE, engine.JSONPatch: crdevalv1.PatchType_PATCH_TYPE_JSON,
}

var fieldValidations = map[engine.FieldValidation]crdevalv1.FieldValidation{
	engine.FieldValidationStrict: crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT,
	engine.FieldValidationWarn:   crdevalv1.FieldValidation_FIELD_VALIDATION_WARN,
	engine.FieldValidationIgnore: crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE,
}
