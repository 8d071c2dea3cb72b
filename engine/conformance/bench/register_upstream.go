package bench

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// registrar is the API server's endpoint for CustomResourceDefinitions, driven without anything that the server does around it: no negotiation,
// no admission, no managed fields, no storage.
type registrar struct {
	scheme   *runtime.Scheme
	decoder  runtime.Decoder
	encoder  runtime.Encoder
	strategy rest.RESTCreateStrategy
}

func newRegistrar() *registrar {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme)
	strict := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme, jsonserializer.SerializerOptions{Strict: true})
	plain := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme, jsonserializer.SerializerOptions{})
	return &registrar{
		scheme: scheme, strategy: customresourcedefinition.NewStrategy(scheme),
		decoder: codecs.DecoderToVersion(strict, apiextensions.SchemeGroupVersion),
		encoder: codecs.EncoderForVersion(plain, apiextensionsv1.SchemeGroupVersion),
	}
}

// warned collects warnings.
type warned struct{ texts []string }

func (w *warned) AddWarning(_, text string) { w.texts = append(w.texts, text) }

// register is a create of a CRD as createHandler and the registry's store do it, up to the bytes that are stored, and then what serving all its
// served versions needs. It returns the warnings.
func (r *registrar) register(manifest []byte) ([]string, error) {
	var warned warned
	ctx := warning.WithWarningRecorder(request.WithNamespace(context.Background(), ""), &warned)
	obj, _, err := r.decoder.Decode(manifest, nil, nil)
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return nil, fmt.Errorf("upstream: %w", err)
		}
		for _, e := range strict.Errors() {
			warning.AddWarning(ctx, "", e.Error())
		}
	}
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil, fmt.Errorf("upstream: %T is no CRD", obj)
	}
	rest.WipeObjectMetaSystemFields(crd)
	rest.FillObjectMetaSystemFields(crd)
	if err := rest.BeforeCreate(r.strategy, ctx, crd); err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	var stored bytes.Buffer
	if err := r.encoder.Encode(crd, &stored); err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	// A server serves what its informer decodes from storage; that it is converted once more is all that is counted of that.
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.scheme.Convert(crd, v1, nil); err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	for i := range v1.Spec.Versions {
		if !v1.Spec.Versions[i].Served {
			continue
		}
		if _, _, _, err := compileUpstream(&v1.Spec.Versions[i]); err != nil {
			return nil, fmt.Errorf("upstream: %w", err)
		}
	}
	return warned.texts, nil
}
