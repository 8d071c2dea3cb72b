package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/registry/rest"
)

// crdStrategy is the registry strategy of CustomResourceDefinitions.
var crdStrategy = customresourcedefinition.NewStrategy(scheme)

const kind = "CustomResourceDefinition"

// Registered is a CustomResourceDefinition that was decoded, whether or not it was accepted.
type Registered struct {
	// Internal is the definition as the strategy saw it.
	Internal *apiextensions.CustomResourceDefinition
	// V1 is the stored definition at v1, names accepted; what the custom resource handler serves from.
	V1 *apiextensionsv1.CustomResourceDefinition
}

// Register creates a CustomResourceDefinition: strict decoding (so that unknown and duplicate fields become warnings), defaults,
// conversion, PrepareForCreate, validation, warnings. manifest is JSON, or YAML if yaml is set; v1 or v1beta1.
//
// The first result is nil when the manifest could not be decoded.
func Register(manifest []byte, yaml bool) (*Registered, Answer) {
	crd, strict, err := decodeCRD(manifest, yaml)
	if err != nil {
		return nil, Answer{Refusal: refusalOf(err), DecodeError: err.Error()}
	}
	// createHandler wipes what only a server sets. Definitions are cluster-scoped: BeforeCreate clears a namespace.
	rest.WipeObjectMetaSystemFields(crd)
	if err := rest.EnsureObjectNamespaceMatchesRequestNamespace("", crd); err != nil {
		return nil, Answer{Refusal: refusalOf(err), DecodeError: err.Error()}
	}
	ctx := context.Background()
	var headers headers
	for _, text := range strict {
		headers.add(yamlWarnings(text)...)
	}
	crd.SetOwnerReferences(dedup(crd.GetOwnerReferences(), &headers))
	crd.SetManagedFields(nil) // the field manager writes them anew
	crdStrategy.PrepareForCreate(ctx, crd)
	// The texts of WarningsOnCreate are told with refusals, too: upstream keeps them for accepted definitions.
	// Their order is that of Go's maps.
	texts := crdStrategy.WarningsOnCreate(ctx, crd)
	sort.Strings(texts)
	headers.add(texts...)
	answer := Answer{Warnings: headers.sent(), Errors: FindingsOf(crdStrategy.Validate(ctx, crd))}
	v1, err := served(crd)
	if err != nil {
		return nil, Answer{Refusal: refusalOf(err), DecodeError: err.Error()}
	}
	return &Registered{Internal: crd, V1: v1}, answer
}

// decodeCRD stands for the decoding half of a create request on the CRD endpoint of the manifest's own version.
func decodeCRD(manifest []byte, yaml bool) (*apiextensions.CustomResourceDefinition, []string, error) {
	serializer := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme,
		jsonserializer.SerializerOptions{Strict: true, Yaml: yaml})
	decoder := codecs.DecoderToVersion(serializer, schema.GroupVersion{Group: apiextensions.GroupName, Version: runtime.APIVersionInternal})
	obj, gvk, err := decoder.Decode(manifest, nil, nil)
	var strict []string
	if err != nil {
		strictErr, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			if gvk != nil && gvk.Kind == kind && gvk.Group == apiextensions.GroupName {
				// transformDecodeError, on the endpoint of the manifest's own version
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind, gvk.Version, kind, err))
			}
			return nil, nil, apierrors.NewBadRequest(err.Error())
		}
		for _, e := range strictErr.Errors() {
			strict = append(strict, e.Error())
		}
	}
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil, strict, apierrors.NewBadRequest(fmt.Sprintf("%T is not a CustomResourceDefinition", obj))
	}
	return crd, strict, nil
}

// served converts a definition to v1 through its stored JSON, so that the handler's view has been through a round trip as on a server,
// and accepts its names as the naming controller does for the first definition of a group.
func served(crd *apiextensions.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	out := &apiextensionsv1.CustomResourceDefinition{}
	if err := scheme.Convert(crd.DeepCopy(), out, nil); err != nil {
		return nil, err
	}
	out.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind(kind))
	doc, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	stored, _, err := codecs.UniversalDeserializer().Decode(doc, nil, &apiextensionsv1.CustomResourceDefinition{})
	if err != nil {
		return nil, err
	}
	v1 := stored.(*apiextensionsv1.CustomResourceDefinition)
	v1.Status.AcceptedNames = v1.Spec.Names
	v1.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: metav1.Time{}},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: metav1.Time{}},
	}
	return v1, nil
}
