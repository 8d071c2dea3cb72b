package definition

import (
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decodeBeta decodes a v1beta1 manifest with the semantics of upstream's library. API servers since 1.22 do not serve
// v1beta1.
func decodeBeta(doc []byte) (*Manifest, error) {
	in := &apiextensionsv1beta1.CustomResourceDefinition{}
	strict, err := decodeStrict(doc, in, versionB1)
	if err != nil {
		return nil, err
	}
	apiextensionsv1beta1.SetObjectDefaults_CustomResourceDefinition(in)
	m := &Manifest{Strict: strict, beta: true, spec: specOfBeta(&in.Spec)}
	for _, s := range m.spec.schemas() {
		if err := checkValues(s); err != nil {
			return nil, wrongShape(versionB1, err)
		}
	}
	m.CRD = &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersionV1, Kind: kind}, ObjectMeta: in.ObjectMeta, Spec: m.spec.v1(),
	}
	fromBeta(&m.CRD.Status, &in.Status)
	return m, nil
}

// specOfBeta returns the internal form of a spec with defaults.
func specOfBeta(in *apiextensionsv1beta1.CustomResourceDefinitionSpec) spec {
	out := spec{
		group: in.Group, version: in.Version, scope: apiextensionsv1.ResourceScope(in.Scope),
		preserveUnknownFields: *in.PreserveUnknownFields,
		conversion: &conversion{
			strategy:                 apiextensionsv1.ConversionStrategyType(in.Conversion.Strategy),
			conversionReviewVersions: in.Conversion.ConversionReviewVersions,
		},
	}
	fromBeta(&out.names, &in.Names)
	fromBeta(&out.validation, &in.Validation)
	fromBeta(&out.subresources, &in.Subresources)
	fromBeta(&out.versions, &in.Versions)
	fromBeta(&out.additionalPrinterColumns, &in.AdditionalPrinterColumns)
	fromBeta(&out.selectableFields, &in.SelectableFields)
	fromBeta(&out.conversion.webhookClientConfig, &in.Conversion.WebhookClientConfig)
	return out
}

// fromBeta copies a part of a v1beta1 CRD into the same part of a v1 CRD. Their types have the same fields. Upstream's
// conversion would decode defaults: 1.0 would become 1.
func fromBeta[V1, Beta any](out *V1, in *Beta) {
	copyValue(reflect.ValueOf(out).Elem(), reflect.ValueOf(in).Elem())
}

func copyValue(out, in reflect.Value) {
	switch kind := in.Kind(); {
	case in.Type() == out.Type():
		out.Set(in)
	case kind == reflect.Struct:
		for i := range out.NumField() {
			copyValue(out.Field(i), in.FieldByName(out.Type().Field(i).Name))
		}
	case kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map:
		out.Set(in.Convert(out.Type()))
	case in.IsNil():
	case kind == reflect.Pointer:
		out.Set(reflect.New(out.Type().Elem()))
		copyValue(out.Elem(), in.Elem())
	case kind == reflect.Slice:
		out.Set(reflect.MakeSlice(out.Type(), in.Len(), in.Len()))
		for i := range in.Len() {
			copyValue(out.Index(i), in.Index(i))
		}
	default:
		out.Set(reflect.MakeMapWithSize(out.Type(), in.Len()))
		for _, k := range in.MapKeys() {
			element := reflect.New(out.Type().Elem()).Elem()
			copyValue(element, in.MapIndex(k))
			out.SetMapIndex(k, element)
		}
	}
}
