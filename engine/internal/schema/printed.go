package schema

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/conversion"
)

// Print returns a part of a CRD in the form that field errors show: upstream's internal type, whose members have Go
// names and are all printed. convert is upstream's conversion.
func Print[In, Out any](part *In, convert func(*In, *Out, conversion.Scope) error) *Out {
	out := new(Out)
	_ = convert(part, out, nil) // it fails only for values that are not JSON, which Decode rejects
	return out
}

// PrintSchema is Print for a schema.
func PrintSchema(s *Props) *apiextensions.JSONSchemaProps {
	return Print(s, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps)
}
