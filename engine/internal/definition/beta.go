package definition

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// betaCRD is a v1beta1 CRD manifest. Unchanged parts use the v1 types.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1/types.go)
type betaCRD struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   betaSpec                                       `json:"spec"`
	Status apiextensionsv1.CustomResourceDefinitionStatus `json:"status,omitempty"`
}

type betaSpec struct {
	Group                    string                                        `json:"group"`
	Version                  string                                        `json:"version,omitempty"`
	Names                    apiextensionsv1.CustomResourceDefinitionNames `json:"names"`
	Scope                    apiextensionsv1.ResourceScope                 `json:"scope"`
	Validation               *apiextensionsv1.CustomResourceValidation     `json:"validation,omitempty"`
	Subresources             *apiextensionsv1.CustomResourceSubresources   `json:"subresources,omitempty"`
	Versions                 []betaVersion                                 `json:"versions,omitempty"`
	AdditionalPrinterColumns []betaColumn                                  `json:"additionalPrinterColumns,omitempty"`
	SelectableFields         []apiextensionsv1.SelectableField             `json:"selectableFields,omitempty"`
	Conversion               *betaConversion                               `json:"conversion,omitempty"`
	PreserveUnknownFields    *bool                                         `json:"preserveUnknownFields,omitempty"`
}

type betaVersion struct {
	Name                     string                                      `json:"name"`
	Served                   bool                                        `json:"served"`
	Storage                  bool                                        `json:"storage"`
	Deprecated               bool                                        `json:"deprecated,omitempty"`
	DeprecationWarning       *string                                     `json:"deprecationWarning,omitempty"`
	Schema                   *apiextensionsv1.CustomResourceValidation   `json:"schema,omitempty"`
	Subresources             *apiextensionsv1.CustomResourceSubresources `json:"subresources,omitempty"`
	AdditionalPrinterColumns []betaColumn                                `json:"additionalPrinterColumns,omitempty"`
	SelectableFields         []apiextensionsv1.SelectableField           `json:"selectableFields,omitempty"`
}

type betaColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
	JSONPath    string `json:"JSONPath"`
}

type betaConversion struct {
	Strategy                 apiextensionsv1.ConversionStrategyType `json:"strategy"`
	WebhookClientConfig      *apiextensionsv1.WebhookClientConfig   `json:"webhookClientConfig,omitempty"`
	ConversionReviewVersions []string                               `json:"conversionReviewVersions,omitempty"`
}

// decodeBeta decodes a v1beta1 manifest with the semantics of upstream's library. API servers since 1.22 do not serve
// v1beta1.
func decodeBeta(doc []byte) (*Manifest, error) {
	var in betaCRD
	strict, err := decodeStrict(doc, &in, "v1beta1")
	if err != nil {
		// The error text contains Go type names. Use those of upstream's types.
		if _, its := decodeStrict(doc, &apiextensionsv1beta1.CustomResourceDefinition{}, "v1beta1"); its != nil {
			err = its
		}
		return nil, err
	}
	in.Spec.setDefaults()
	m := &Manifest{Strict: strict, beta: true, spec: in.Spec.spec()}
	for _, s := range m.spec.schemas() {
		if err := checkValues(s); err != nil {
			return nil, wrongShape("v1beta1", err)
		}
	}
	m.CRD = &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiVersionV1, Kind: kind},
		ObjectMeta: in.ObjectMeta, Spec: m.spec.v1(), Status: in.Status,
	}
	return m, nil
}

// setDefaults sets the defaults of v1beta1.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1/defaults.go)
func (s *betaSpec) setDefaults() {
	if s.Scope == "" {
		s.Scope = apiextensionsv1.NamespaceScoped
	}
	defaultNames(&s.Names)
	if len(s.Versions) == 0 && s.Version != "" {
		s.Versions = []betaVersion{{Name: s.Version, Storage: true, Served: true}}
	}
	if s.Version == "" && len(s.Versions) != 0 {
		s.Version = s.Versions[0].Name
	}
	if s.Conversion == nil {
		s.Conversion = &betaConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	if s.Conversion.Strategy == apiextensionsv1.WebhookConverter && len(s.Conversion.ConversionReviewVersions) == 0 {
		s.Conversion.ConversionReviewVersions = []string{"v1beta1"}
	}
	if s.Conversion.WebhookClientConfig != nil {
		defaultPort(s.Conversion.WebhookClientConfig.Service)
	}
	if s.PreserveUnknownFields == nil {
		preserve := true
		s.PreserveUnknownFields = &preserve
	}
}

// spec returns the internal form.
func (s *betaSpec) spec() spec {
	out := spec{
		group: s.Group, version: s.Version, names: s.Names, scope: s.Scope, validation: s.Validation, subresources: s.Subresources,
		additionalPrinterColumns: columns(s.AdditionalPrinterColumns), selectableFields: s.SelectableFields,
		preserveUnknownFields: *s.PreserveUnknownFields,
		conversion: &conversion{
			strategy: s.Conversion.Strategy, webhookClientConfig: s.Conversion.WebhookClientConfig,
			conversionReviewVersions: s.Conversion.ConversionReviewVersions,
		},
	}
	if s.Versions != nil {
		out.versions = make([]apiextensionsv1.CustomResourceDefinitionVersion, len(s.Versions))
	}
	for i := range s.Versions {
		v := &s.Versions[i]
		out.versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{
			Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning,
			Schema: v.Schema, Subresources: v.Subresources, AdditionalPrinterColumns: columns(v.AdditionalPrinterColumns),
			SelectableFields: v.SelectableFields,
		}
	}
	return out
}

func columns(in []betaColumn) []apiextensionsv1.CustomResourceColumnDefinition {
	if in == nil {
		return nil
	}
	out := make([]apiextensionsv1.CustomResourceColumnDefinition, len(in))
	for i, c := range in {
		out[i] = apiextensionsv1.CustomResourceColumnDefinition(c)
	}
	return out
}
