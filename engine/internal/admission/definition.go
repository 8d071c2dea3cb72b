package admission

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/selector"
	"github.com/crdeval/crdeval/engine/internal/table"
)

// Definition is what the pipelines need of a CRD. It is immutable and safe for concurrent use.
type Definition struct {
	// Name is the name of the CRD: crontabs.stable.example.com.
	Name                string
	Group, Kind, Plural string
	Namespaced          bool
	PreserveUnknown     bool
	// Terminating says that the CRD is being deleted, so that creations are forbidden.
	Terminating bool
	// Conversion is spec.conversion. Nil means None.
	Conversion *apiextensionsv1.CustomResourceConversion
	// Converter calls the CRD's webhook. If it is nil, conversions by a webhook fail.
	Converter Converter
	// Unservable is why API servers answer every request for objects of the CRD with 500, nil if they do not.
	Unservable error
	// Versions are in the order of spec.versions.
	Versions []*Version
	// Storage is the storage version.
	Storage *Version
}

// Version is one version of a CRD.
type Version struct {
	Name string
	// APIVersion is group/version.
	APIVersion string
	Served     bool
	// Plan is the compiled schema.
	Plan *plan.Plan
	// HasStatus says that the version has a status subresource.
	HasStatus bool
	// Scale holds the paths of the scale subresource, or nil.
	Scale *Scale
	// Selectable are the fields that field selectors may use.
	Selectable *selector.Fields
	// Columns are the columns of tables.
	Columns *table.Columns
	// Warnings are part of every answer: the deprecation warning.
	Warnings []string
}

// Find returns the version with the name, or nil.
func (d *Definition) Find(version string) *Version {
	for _, v := range d.Versions {
		if v.Name == version {
			return v
		}
	}
	return nil
}

// Endpoint returns the version with the name if API servers serve it. The error is a *Fault.
func (d *Definition) Endpoint(version string) (*Version, error) {
	v, err := d.endpoint("version", version)
	if err == nil {
		err = d.served()
	}
	return v, err
}

// Describe returns a Definition of a CRD. The caller adds the plans.
func Describe(crd *apiextensionsv1.CustomResourceDefinition) *Definition {
	d := &Definition{
		Name: crd.Name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural,
		Namespaced:      crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		PreserveUnknown: crd.Spec.PreserveUnknownFields,
		Conversion:      crd.Spec.Conversion,
		Unservable:      unservable(crd),
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		version := &Version{Name: v.Name, APIVersion: crd.Spec.Group + "/" + v.Name, Served: v.Served,
			HasStatus: schema.HasStatus(v)}
		version.Selectable = selector.CompileFields(v, d.Namespaced)
		version.Columns = table.CompileColumns(v.AdditionalPrinterColumns)
		if v.Subresources != nil {
			version.Scale = NewScale(v.Subresources.Scale)
		}
		if text := schema.Deprecation(crd, v); text != "" {
			version.Warnings = append(version.Warnings, text)
		}
		d.Versions = append(d.Versions, version)
		if v.Storage {
			d.Storage = version
		}
	}
	return d
}
