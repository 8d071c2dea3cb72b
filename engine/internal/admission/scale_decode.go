package admission

import (
	"fmt"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// scaleKind is the type of the scale subresource.
var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scaleDecoders decode Scales into the types that upstream's decoder knows. They are safe for concurrent use.
var scaleDecoders = sync.OnceValue(func() map[decoding]runtime.Decoder {
	s := runtime.NewScheme()
	utilruntime.Must(autoscalingv1.AddToScheme(s))
	codecs, all := serializer.NewCodecFactory(s), map[decoding]runtime.Decoder{}
	for _, how := range []decoding{{}, {yaml: true}, {strict: true}, {yaml: true, strict: true}} {
		all[how] = codecs.DecoderToVersion(
			jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, s, s,
				jsonserializer.SerializerOptions{Yaml: how.yaml, Strict: how.strict}),
			scaleKind.GroupVersion())
	}
	return all
})

type decoding struct{ yaml, strict bool }

// olderScales are the group versions of Scales that upstream's decoder knows and cannot convert.
var olderScales = map[string]bool{"extensions/v1beta1": true, "apps/v1beta1": true, "apps/v1beta2": true}

// unregistered is the API server's text about a Scale that cannot be decoded. It searches the kind among custom
// resources.
//
// Upstream: endpoints/handlers/rest.go, transformDecodeError; customresource_handler.go, which overrides the scope's
// serializer and not its typer.
const unregistered = `no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"`

// decodedScale is a Scale as the request handler decodes it.
type decodedScale struct {
	scale  *autoscalingv1.Scale
	strict []string                 // unknown and duplicate fields
	of     *schema.GroupVersionKind // the type that it declares, or nil
}

// decodeScale decodes a Scale. byDefault is the type of a body that declares none. The error is upstream's.
func decodeScale(body []byte, yaml bool, fieldValidation FieldValidation,
	byDefault *schema.GroupVersionKind) (decodedScale, error) {
	into := &autoscalingv1.Scale{}
	made, of, err := scaleDecoders()[decoding{yaml, fieldValidation != Ignore}].Decode(body, byDefault, into)
	d := decodedScale{scale: into, of: of}
	if strict, ok := runtime.AsStrictDecodingError(err); ok && made != nil {
		for _, e := range strict.Errors() {
			d.strict = append(d.strict, e.Error())
		}
		err = nil
	}
	switch {
	case err != nil && runtime.IsNotRegisteredError(err) && of != nil && of.Kind == scaleKind.Kind &&
		olderScales[of.GroupVersion().String()]:
		return d, fmt.Errorf("converting (%s.Scale) to (v1.Scale): unknown conversion", of.Version)
	case err == nil && made != into:
		return d, fmt.Errorf("unable to decode %s into %T", of, into)
	}
	return d, err
}
