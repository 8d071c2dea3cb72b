// Package openapi compares the engine's OpenAPI documents with those that upstream's controllers would publish for the
// same CRDs.
package openapi

import (
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The options of the controllers on a default 1.37.
var (
	v3Options = builder.Options{IncludeSelectableFields: true}
	v2Options = builder.Options{V2: true, IncludeSelectableFields: true}
)

// UpstreamV3 returns the bytes that upstream's openapiv3 controller sends for the CRDs that serve a version.
func UpstreamV3(crds []*apiextensionsv1.CustomResourceDefinition, version string) ([]byte, error) {
	docs := make([]*spec3.OpenAPI, len(crds))
	for i, crd := range crds {
		doc, err := builder.BuildOpenAPIV3(crd, version, v3Options)
		if err != nil {
			return nil, err
		}
		docs[i] = doc
	}
	merged, err := builder.MergeSpecsV3(docs...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(merged)
}

// UpstreamV2 returns the document of upstream's openapi controller for all served versions of CRDs, without other
// resources. The bytes are those of encoding/json.
func UpstreamV2(crds []*apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	var all []*spec.Swagger
	for _, crd := range crds {
		merged := &spec.Swagger{}
		for _, v := range crd.Spec.Versions {
			if !v.Served {
				continue
			}
			doc, err := builder.BuildOpenAPIV2(crd, v.Name, v2Options)
			if err != nil {
				return nil, fmt.Errorf("version %s: %w", v.Name, err)
			}
			doc.Definitions = handler.PruneDefaults(doc.Definitions)
			if merged, err = builder.MergeSpecs(merged, doc); err != nil {
				return nil, err
			}
		}
		all = append(all, merged)
	}
	base := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Info: &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes CRD Swagger", Version: "v0.1.0"}}, Paths: &spec.Paths{},
	}}
	merged, err := builder.MergeSpecs(base, all...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(merged)
}
