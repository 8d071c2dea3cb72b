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
	"sigs.k8s.io/yaml"
)

// registrar is the API server's endpoint for CustomResourceDefinitions without negotiation, admission, managed fields
// and storage.
type registrar struct {
	scheme   *runtime.Scheme
	decoder  runtime.Decoder
	encoder  runtime.Encoder
	strategy interface {
		rest.RESTCreateStrategy
		rest.RESTUpdateStrategy
	}
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

// register creates a CRD from YAML as createHandler and the registry's store do, up to the bytes that are stored, and
// then prepares all its served versions. The YAML is converted once, by kubectl or by the server's decoder. With old,
// the stored bytes, it is an update. It returns the warnings and the stored CRD.
func (r *registrar) register(manifest, old []byte) (warnings []string, stored []byte, err error) {
	var warned warned
	ctx := warning.WithWarningRecorder(request.WithNamespace(context.Background(), ""), &warned)
	text, err := yaml.YAMLToJSONStrict(manifest)
	if err != nil {
		return nil, nil, fmt.Errorf("upstream: %w", err)
	}
	obj, _, err := r.decoder.Decode(text, nil, nil)
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return nil, nil, fmt.Errorf("upstream: %w", err)
		}
		for _, e := range strict.Errors() {
			warning.AddWarning(ctx, "", e.Error())
		}
	}
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil, nil, fmt.Errorf("upstream: %T is no CRD", obj)
	}
	if old == nil {
		rest.WipeObjectMetaSystemFields(crd)
		rest.FillObjectMetaSystemFields(crd)
		err = rest.BeforeCreate(r.strategy, ctx, crd)
	} else {
		err = r.replace(ctx, crd, old)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("upstream: %w", err)
	}
	var out bytes.Buffer
	if err := r.encoder.Encode(crd, &out); err != nil {
		return nil, nil, fmt.Errorf("upstream: %w", err)
	}
	// A server serves what its informer decodes from storage. Only the second conversion of it counts here.
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.scheme.Convert(crd, v1, nil); err != nil {
		return nil, nil, fmt.Errorf("upstream: %w", err)
	}
	for i := range v1.Spec.Versions {
		if !v1.Spec.Versions[i].Served {
			continue
		}
		if _, _, _, err := compileUpstream(&v1.Spec.Versions[i]); err != nil {
			return nil, nil, fmt.Errorf("upstream: %w", err)
		}
	}
	return warned.texts, out.Bytes(), nil
}

// replace is the part of an update that reads the old CRD. The new one has its uid and resourceVersion.
func (r *registrar) replace(ctx context.Context, crd *apiextensions.CustomResourceDefinition, old []byte) error {
	obj, _, err := r.decoder.Decode(old, nil, nil)
	if err != nil {
		return err
	}
	stored, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return fmt.Errorf("%T is no CRD", obj)
	}
	stored.SetResourceVersion(resourceVersion)
	crd.SetUID(stored.GetUID())
	crd.SetResourceVersion(resourceVersion)
	return rest.BeforeUpdate(r.strategy, ctx, crd, stored)
}

// resourceVersion is that of a stored CRD. Storage sets it.
const resourceVersion = "7"
