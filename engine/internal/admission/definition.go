package admission

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/present"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Definition is a CRD as the pipelines need it. It is immutable; any number of goroutines share it.
type Definition struct {
	// Name is the CRD's: crontabs.stable.example.com.
	Name                string
	Group, Kind, Plural string
	Namespaced          bool
	PreserveUnknown     bool
	// Terminating: it is being deleted, and nothing is created any more.
	Terminating bool
	// Conversion is spec.conversion; nil is None.
	Conversion *apiextensionsv1.CustomResourceConversion
	// Unservable is why API servers answer every request for objects of the CRD with 500, nil if they do not.
	Unservable error
	// Versions are in the order of spec.versions.
	Versions []*Version
	// Storage is the one of them that objects are stored at.
	Storage *Version
}

// Version is one version of a CRD.
type Version struct {
	Name string
	// APIVersion is group/version.
	APIVersion string
	Served     bool
	// Plan is what the schema compiles to.
	Plan *plan.Plan
	// HasStatus: there is a status subresource, so a create drops status.
	HasStatus bool
	// Scale holds the paths of the scale subresource, nil if there is none.
	Scale *Scale
	// Selectable are the fields that field selectors may name.
	Selectable *present.Selectable
	// Columns are those of tables.
	Columns *present.Columns
	// Warnings go with every answer: the deprecation.
	Warnings []string
}

// Scale is the scale subresource with its paths taken apart.
type Scale struct {
	SpecReplicas, StatusReplicas ScalePath
	// LabelSelector has no Names if the CRD has none.
	LabelSelector ScalePath
}

// ScalePath is a path like .spec.replicas.
type ScalePath struct {
	Text  string
	Names []string
}

func scalePath(text string) ScalePath {
	return ScalePath{Text: text, Names: strings.Split(strings.TrimPrefix(text, "."), ".")}
}

// NewScale takes the paths of a scale subresource apart; nil gives nil.
func NewScale(s *apiextensionsv1.CustomResourceSubresourceScale) *Scale {
	if s == nil {
		return nil
	}
	scale := &Scale{SpecReplicas: scalePath(s.SpecReplicasPath), StatusReplicas: scalePath(s.StatusReplicasPath)}
	if s.LabelSelectorPath != nil {
		scale.LabelSelector = scalePath(*s.LabelSelectorPath)
	}
	return scale
}

// Find returns the version of the name, nil if there is none.
func (d *Definition) Find(version string) *Version {
	for _, v := range d.Versions {
		if v.Name == version {
			return v
		}
	}
	return nil
}

// Endpoint returns the version of the name if it is served; the error is a *Fault.
func (d *Definition) Endpoint(version string) (*Version, error) {
	v, err := d.endpoint("version", version)
	if err == nil {
		err = d.served()
	}
	return v, err
}

// Describe fills in what a Definition and its Versions take from the CRD itself; the plans are the caller's to add.
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
		version := &Version{Name: v.Name, APIVersion: crd.Spec.Group + "/" + v.Name, Served: v.Served, HasStatus: schema.HasStatus(v)}
		version.Selectable = present.CompileSelectable(v, d.Namespaced)
		version.Columns = present.CompileColumns(v.AdditionalPrinterColumns)
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
