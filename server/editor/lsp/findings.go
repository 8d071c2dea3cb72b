package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// finding is a finding with its place.
type finding struct {
	diagnosis.Finding
	manifest   int // index in the document
	start, end int // in the text of the document
}

// result has the findings of a document. They do not depend on the position of the document in the file.
type result struct {
	findings []finding
	stored   *stored
	used     []usage
	revision int // of the CRDs
}

// usage is a kind that a document uses, with what the CRDs that apply compiled to.
type usage struct {
	apiVersion, kind string
	compiled         []*workspace.Compiled
}

// maxFindings bounds the diagnostics of a document.
const maxFindings = 500

// located is a result with the manifests of its document.
type located struct {
	*result
	manifests []*workspace.Manifest
}

// examine returns the findings of each document of a file. It reuses the results in old, by the text of the document,
// unless a CRD or a stored object has changed. It returns the results for the next call.
func (w *folders) examine(ctx context.Context, file *workspace.File, of *stored, old map[string]*result) (
	list []located, all map[string]*result) {
	all = map[string]*result{}
	mayBeObject := func(m *workspace.Manifest) bool { return m.IsTyped() || m.MayBeObject() }
	mayHaveObjects := slices.ContainsFunc(file.Manifests, mayBeObject)
	for rest := file.Manifests; len(rest) > 0; {
		next := slices.IndexFunc(rest, func(m *workspace.Manifest) bool { return m.Number != rest[0].Number })
		if next < 0 {
			next = len(rest)
		}
		manifests := rest[:next]
		rest = rest[next:]
		if manifests[0].Err != nil && !mayHaveObjects {
			continue // a configuration in another format
		}
		begin, end := manifests[0].Extent()
		key := string(manifests[0].Text().Bytes()[begin:end])
		if err := manifests[0].Err; err != nil {
			key += "\x00" + err.Error()
		}
		r := all[key]
		if r == nil {
			r = old[key]
		}
		if r == nil || r.stored != of || !w.current(r, file.Path) {
			r = w.document(ctx, manifests, of)
		}
		if ctx.Err() != nil {
			return nil, old
		}
		all[key] = r
		list = append(list, located{r, manifests})
	}
	return list, all
}

// current reports whether the CRDs that a result depends on are the same.
func (w *folders) current(r *result, path string) bool {
	w.mu.Lock()
	revision := w.revision
	w.mu.Unlock()
	return r.revision == revision || !slices.ContainsFunc(r.used, func(u usage) bool {
		now := w.usage(u.apiVersion, u.kind, path)
		return len(now.compiled) == 0 || slices.Contains(now.compiled, nil) || !slices.Equal(now.compiled, u.compiled)
	})
}

// usage returns the CRDs of a kind as they are now.
func (w *folders) usage(apiVersion, kind, path string) usage {
	u := usage{apiVersion: apiVersion, kind: kind}
	for _, c := range w.set().Considered(apiVersion, kind, path) {
		u.compiled = append(u.compiled, c.Compiled())
	}
	return u
}

// document evaluates the manifests of a document.
func (w *folders) document(ctx context.Context, manifests []*workspace.Manifest, of *stored) *result {
	w.mu.Lock()
	r, settings := &result{stored: of, revision: w.revision}, w.settings
	w.mu.Unlock()
	var first *diagnosis.Document
	for i, m := range manifests {
		found := w.findings(ctx, r, m, settings)
		if ctx.Err() != nil {
			return r
		}
		if len(found) == 0 {
			continue
		}
		if first == nil {
			first = diagnosis.New(m, 0)
		}
		d := first.Sibling(m)
		for _, f := range found {
			start, end := d.RangeOf(&f)
			r.findings = append(r.findings, finding{f, i, start, end})
		}
		if more := len(r.findings) - maxFindings; more > 0 {
			r.findings = append(r.findings[:maxFindings], finding{Finding: diagnosis.Finding{
				Severity: diagnosis.Information, Type: diagnosis.NotChecked,
				Message: fmt.Sprintf("%d more problems of this document are not shown", more),
			}})
			return r
		}
	}
	return r
}

// findings returns the findings of a manifest.
func (w *folders) findings(ctx context.Context, r *result, m *workspace.Manifest, settings Settings) (
	list []diagnosis.Finding) {
	if m.IsTemplate || m.Err != nil && !m.MayBeObject() {
		return nil
	}
	list = diagnosis.OfManifest(m)
	switch w.set().Classify(m) {
	case workspace.ClassCRD:
		return append(list, checkCRD(ctx, m, settings)...)
	case workspace.ClassFragment:
		return append(list, diagnosis.Finding{
			Severity: diagnosis.Information, Type: diagnosis.NotChecked, Pointer: "/kind",
			Message: "the CRD is not checked: it has no group, kind or versions, as a patch of kustomize",
		})
	case workspace.ClassObject, workspace.ClassWithoutCRD:
		if settings.SkipKind == nil || !settings.SkipKind(m.APIVersion, m.Kind) {
			return append(list, w.checkObject(ctx, r, m, settings)...)
		}
	}
	return list
}

// checkCRD returns the findings of a CRD, and the bounds that its rules need.
func checkCRD(ctx context.Context, m *workspace.Manifest, settings Settings) []diagnosis.Finding {
	report, err := engine.Check(ctx, m.Document, engine.Options{
		Kubernetes: settings.Kubernetes, FieldValidation: settings.FieldValidation,
	})
	if err != nil {
		return []diagnosis.Finding{diagnosis.OfError(err)}
	}
	return append(diagnosis.OfReport(report), diagnosis.OfCosts(report)...)
}

// checkObject returns the findings of the creation of an object, or of its update if it is stored.
func (w *folders) checkObject(ctx context.Context, r *result, m *workspace.Manifest, settings Settings) (
	list []diagnosis.Finding) {
	answers := w.set().Evaluate(ctx, m.APIVersion, m.Kind, m.Path(),
		func(_ *workspace.CRD, d *engine.Definition) (*engine.Verdict, error) {
			namespace := ""
			if m.Namespace == "" && d.Scope() == apiextensionsv1.NamespaceScoped {
				namespace = settings.Namespace
			}
			options := engine.ValidateOptions{FieldValidation: settings.FieldValidation, CompleteMetadata: true}
			if m.HasPlaceholders() {
				options.Trace = rules.TraceFailed // of the values that the rules read
			}
			if old := r.stored.object(m); !old.Absent() {
				update := engine.Update{Object: m.Document, Old: old, Namespace: namespace}
				if verdict, err := d.Validate(ctx, update, options); err == nil {
					return verdict, nil // otherwise, the stored object is invalid
				}
			}
			return d.Validate(ctx, engine.Create{Object: m.Document, Namespace: namespace}, options)
		})
	r.used = append(r.used, w.usage(m.APIVersion, m.Kind, m.Path()))
	if len(answers) == 1 && answers[0].Err == nil {
		if skip := m.SkipRejected(answers[0].Verdict); skip.Kind != "" {
			return []diagnosis.Finding{{
				Severity: diagnosis.Information, Type: diagnosis.NotChecked, Pointer: "/kind",
				Message: "The object is not checked: " + skip.Reason,
			}}
		}
	}
	list = diagnosis.OfAnswers(answers)
	for i := range list {
		err, _ := list[i].Source.(error)
		without := (*workspace.WithoutCRDError)(nil)
		switch f := &list[i]; {
		case errors.As(err, &without):
			f.Message = "The object is not checked: " + f.Message
			if f.Severity = diagnosis.Warning; without.Similar == "" {
				f.Severity = diagnosis.Information
			}
		case errors.As(err, new(*workspace.RejectedCRDError)):
			f.Severity, f.Message = diagnosis.Warning, "The object is not checked: "+f.Message
		}
	}
	return list
}
