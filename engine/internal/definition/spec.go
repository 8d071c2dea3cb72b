package definition

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// spec is a CRD's spec in the form of the API server's internal type, which is the validated form. Parts that all
// versions share are stored once, outside the versions, and field errors use these paths.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types.go)
type spec struct {
	group                    string
	version                  string // name of the first version
	names                    apiextensionsv1.CustomResourceDefinitionNames
	scope                    apiextensionsv1.ResourceScope
	validation               *apiextensionsv1.CustomResourceValidation
	subresources             *apiextensionsv1.CustomResourceSubresources
	versions                 []crdVersion
	additionalPrinterColumns []apiextensionsv1.CustomResourceColumnDefinition
	selectableFields         []apiextensionsv1.SelectableField
	conversion               *conversion
	preserveUnknownFields    bool

	// The following fields are set during validation.
	ctx        context.Context
	budget     *violation.Budget // bounds the errors
	env        *celenv.Env       // environment of new rules
	shared     *celcheck.Shared
	ratchet    *ratchet
	structural bool // schemas must be structural
	rules      map[*schema.Props]*Rules
}

// conversion is spec.conversion in the flat form of v1beta1.
type conversion struct {
	strategy                 apiextensionsv1.ConversionStrategyType
	webhookClientConfig      *apiextensionsv1.WebhookClientConfig
	conversionReviewVersions []string
}

// lift returns the internal form of a v1 spec. It does not change the v1 spec, but shares memory with it.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go, Convert_v1_CustomResourceDefinitionSpec_…)
func lift(in *apiextensionsv1.CustomResourceDefinitionSpec) spec {
	out := spec{group: in.Group, names: in.Names, scope: in.Scope, preserveUnknownFields: in.PreserveUnknownFields}
	if c := in.Conversion; c != nil {
		out.conversion = &conversion{strategy: c.Strategy}
		if c.Webhook != nil {
			out.conversion.webhookClientConfig = c.Webhook.ClientConfig
			out.conversion.conversionReviewVersions = c.Webhook.ConversionReviewVersions
		}
	}
	if in.Versions == nil {
		return out
	}
	out.versions = append([]crdVersion{}, in.Versions...)
	if len(out.versions) == 0 {
		return out
	}
	out.version = in.Versions[0].Name
	out.subresources = hoist(out.versions, subresourcesPart)
	out.validation = hoist(out.versions, schemaPart)
	out.additionalPrinterColumns = hoist(out.versions, columnsPart)
	out.selectableFields = hoist(out.versions, fieldsPart)
	return out
}

// crdVersion is one version of a CRD.
type crdVersion = apiextensionsv1.CustomResourceDefinitionVersion

// Parts of a version that all versions may share.
func subresourcesPart(v *crdVersion) **apiextensionsv1.CustomResourceSubresources {
	return &v.Subresources
}

func schemaPart(v *crdVersion) **apiextensionsv1.CustomResourceValidation {
	return &v.Schema
}

func columnsPart(v *crdVersion) *[]apiextensionsv1.CustomResourceColumnDefinition {
	return &v.AdditionalPrinterColumns
}

func fieldsPart(v *crdVersion) *[]apiextensionsv1.SelectableField {
	return &v.SelectableFields
}

// hoist returns a part that is semantically equal in all versions and removes it from them. It returns the zero part if
// versions differ.
func hoist[T any](versions []crdVersion, part func(*crdVersion) *T) (common T) {
	if !shared(versions, part) {
		return common
	}
	common = *part(&versions[0])
	for i := range versions {
		var none T
		*part(&versions[i]) = none
	}
	return common
}

// shared reports whether a part is semantically equal in all versions.
func shared[T any](versions []crdVersion, part func(*crdVersion) *T) bool {
	if !quirk.On(quirk.SharedVersionPaths) {
		return false
	}
	for i := 1; i < len(versions); i++ {
		if !schema.Equal(*part(&versions[i]), *part(&versions[0])) {
			return false
		}
	}
	return true
}

// v1 returns the spec at v1. Versions share the memory of equal parts.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go, Convert_apiextensions_…Spec_To_v1_…)
func (s *spec) v1() apiextensionsv1.CustomResourceDefinitionSpec {
	out := apiextensionsv1.CustomResourceDefinitionSpec{
		Group: s.group, Names: s.names, Scope: s.scope, PreserveUnknownFields: s.preserveUnknownFields,
	}
	if s.versions != nil {
		out.Versions = append([]crdVersion{}, s.versions...)
	}
	if len(out.Versions) == 0 && s.version != "" {
		out.Versions = []crdVersion{{Name: s.version, Served: true, Storage: true}}
	}
	for i := range out.Versions {
		v := &out.Versions[i]
		if s.subresources != nil {
			v.Subresources = s.subresources
		}
		if s.validation != nil {
			v.Schema = s.validation
		}
		if s.additionalPrinterColumns != nil {
			v.AdditionalPrinterColumns = s.additionalPrinterColumns
		}
		if s.selectableFields != nil {
			v.SelectableFields = s.selectableFields
		}
	}
	if c := s.conversion; c != nil {
		out.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: c.strategy}
		if c.webhookClientConfig != nil || c.conversionReviewVersions != nil {
			out.Conversion.Webhook = &apiextensionsv1.WebhookConversion{
				ClientConfig: c.webhookClientConfig, ConversionReviewVersions: c.conversionReviewVersions,
			}
		}
	}
	return out
}

// schemas returns all schemas of the spec. It returns a shared schema once.
func (s *spec) schemas() []*schema.Props {
	var all []*schema.Props
	if s.validation != nil && s.validation.OpenAPIV3Schema != nil {
		all = append(all, s.validation.OpenAPIV3Schema)
	}
	for i := range s.versions {
		if p := schema.Of(&s.versions[i]); p != nil {
			all = append(all, p)
		}
	}
	return all
}
