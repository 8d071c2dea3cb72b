package review

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/violation"
)

// Report is what there is to say about a CRD.
type Report struct {
	CRD      *apiextensionsv1.CustomResourceDefinition
	Findings []Finding
	// Warnings are those of decoding, then those of the judgement, each once.
	Warnings    []string
	Versions    []Version
	HasRules    bool
	LowestMinor int // of the schemas' formats, from format.OldestMinor to format.LatestMinor

	warned map[string]struct{} // the texts in Warnings
}

// Accepted says that an API server would take the CRD.
func (r *Report) Accepted() bool { return len(r.Findings) == 0 }

// Finding is a violation and its place in the manifest.
type Finding struct {
	violation.Violation
	Position value.Position
}

// Version is one version, in order of priority.
type Version struct {
	// Index is its place in spec.versions.
	Index int
	// Deprecation is the warning that goes with every request, "" for none.
	Deprecation         string
	HasRules            bool
	HasStatus, HasScale bool
	LowestMinor         int
	*apiextensionsv1.CustomResourceDefinitionVersion
}

// Of judges a decoded manifest. d and root are the tree of its text; without one, root 0, there are no places. The error is a
// *value.LimitError, for more findings than the limits allow, or that of a context which has ended.
func Of(ctx context.Context, m *definition.Manifest, o definition.Options, d *value.Doc, root uint32) (*Report, error) {
	result := definition.Validate(ctx, m, o)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if result.Err != nil {
		return nil, result.Err
	}
	r := &Report{CRD: m.CRD, LowestMinor: format.OldestMinor}
	places := newLocator(d, root)
	for _, err := range result.Errors {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := Finding{Violation: violation.Of(violation.CRD, err, nil)}
		if root != 0 {
			path, there, node := places.locate(err.Field)
			f.Path, f.Position = path.Detach(), d.PositionOf(node, there)
		} else {
			f.Path = violation.PathOf(err.Field)
		}
		f.Schema = schemaPointer(f.Path)
		r.Findings = append(r.Findings, f)
	}
	r.Versions = Versions(m.CRD)
	for i := range r.Versions {
		r.HasRules = r.HasRules || r.Versions[i].HasRules
		r.LowestMinor = max(r.LowestMinor, r.Versions[i].LowestMinor)
	}
	for duplicate := range d.Duplicates(value.Request) {
		if duplicate.Path == "" { // of YAML, which is JSON without duplicates by now; those of JSON are in m.Strict
			r.warn(admission.StrictWarnings(duplicate.Text)...)
		}
	}
	r.warn(m.Strict...)
	r.warn(result.Warnings...)
	return r, nil
}

func (r *Report) warn(texts ...string) {
	for _, text := range texts {
		if _, there := r.warned[text]; there {
			continue
		}
		if r.warned == nil {
			r.warned = map[string]struct{}{}
		}
		r.warned[text] = struct{}{}
		r.Warnings = append(r.Warnings, text)
	}
}

// Versions describes the versions of a CRD in order of priority.
func Versions(crd *apiextensionsv1.CustomResourceDefinition) []Version {
	list := make([]Version, 0, len(crd.Spec.Versions))
	for _, i := range schema.Priority(crd.Spec.Versions) {
		v := &crd.Spec.Versions[i]
		s := schema.Of(v)
		list = append(list, Version{
			Index: i, CustomResourceDefinitionVersion: v,
			Deprecation: schema.Deprecation(crd, v),
			HasRules:    schema.HasRules(s),
			HasStatus:   schema.HasStatus(v),
			HasScale:    v.Subresources != nil && v.Subresources.Scale != nil,
			LowestMinor: lowestMinor(s),
		})
	}
	return list
}

// lowestMinor is the oldest Kubernetes minor that knows every format of a schema which the latest knows.
func lowestMinor(s *schema.Props) int {
	lowest := format.OldestMinor
	schema.Any(s, func(s *schema.Props) bool {
		types := []string{s.Type}
		if s.Format == "" || !format.Supported(s.Format, types, format.LatestMinor) {
			return false
		}
		for !format.Supported(s.Format, types, lowest) {
			lowest++
		}
		return false
	})
	return lowest
}
