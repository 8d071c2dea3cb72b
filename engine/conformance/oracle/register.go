package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// crdStrategy is the registry strategy of CustomResourceDefinitions.
var crdStrategy = customresourcedefinition.NewStrategy(scheme)

// crdStatusStrategy is the strategy of the status subresource.
var crdStatusStrategy = customresourcedefinition.NewStatusStrategy(scheme)

const kind = "CustomResourceDefinition"

// Registered is a decoded CustomResourceDefinition, accepted or not.
type Registered struct {
	// Internal is the CRD that the strategy received.
	Internal *apiextensions.CustomResourceDefinition
	// Stored is the stored v1 object with its status, if the CRD were accepted.
	Stored *apiextensionsv1.CustomResourceDefinition
	// V1 is Stored with accepted names: what the custom resource handler serves from.
	V1 *apiextensionsv1.CustomResourceDefinition
}

// Register creates a CustomResourceDefinition: strict decoding (unknown and duplicate fields become warnings),
// defaults, conversion, PrepareForCreate, validation, warnings. manifest is v1 or v1beta1, in JSON, or in YAML if yaml
// is true.
//
// A v1beta1 manifest that preserves unknown fields cannot be created today, but older servers stored such CRDs. The
// answer is that of an update of the stored CRD that changes nothing.
//
// The first result is nil if the manifest cannot be decoded.
func Register(manifest []byte, yaml bool) (*Registered, Answer) {
	crd, headers, version, err := prepared(manifest, yaml)
	if err != nil {
		return nil, Answer{Rejection: rejectionOf(err), DecodeError: err.Error()}
	}
	ctx := context.Background()
	if version == "v1beta1" && crd.Spec.PreserveUnknownFields != nil && *crd.Spec.PreserveUnknownFields {
		old := kept(crd)
		return old.update(old.Internal.DeepCopy(), headers)
	}
	if crd.Name == "" && crd.GenerateName != "" {
		crd.Name = withoutRandom(crdStrategy.GenerateName(crd.GenerateName))
	}
	// Rejections include the warnings of WarningsOnCreate here. Kubernetes returns them only for accepted CRDs.
	headers.addSorted(crdStrategy.WarningsOnCreate(ctx, crd))
	return answered(crd, crdStrategy.Validate(ctx, crd), headers)
}

// RegisterStrict returns the rejection of a creation with fieldValidation=Strict whose manifest cannot be decoded
// without errors. It is nil for another manifest.
func RegisterStrict(manifest []byte, yaml bool) *Rejection {
	_, strict, version, err := decodeCRD(manifest, yaml)
	if err != nil {
		return rejectionOf(err)
	}
	if len(strict) == 0 {
		return nil
	}
	errs := make([]error, len(strict))
	for i, text := range strict {
		errs[i] = errors.New(text)
	}
	// transformDecodeError, on the endpoint of the manifest's version
	return rejectionOf(apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
		kind, version, kind, runtime.NewStrictDecodingError(errs))))
}

// prepared is the result of a creation before validation.
func prepared(manifest []byte, yaml bool) (*apiextensions.CustomResourceDefinition, *headers, string, error) {
	crd, headers, version, err := received(manifest, yaml)
	if err != nil {
		return nil, nil, "", err
	}
	// createHandler clears what only a server sets.
	rest.WipeObjectMetaSystemFields(crd)
	crdStrategy.PrepareForCreate(context.Background(), crd)
	return crd, headers, version, nil
}

// received reproduces what the create and update handlers both do to a manifest before the strategy.
func received(manifest []byte, yaml bool) (*apiextensions.CustomResourceDefinition, *headers, string, error) {
	crd, strict, version, err := decodeCRD(manifest, yaml)
	if err != nil {
		return nil, nil, "", err
	}
	// CRDs are cluster-scoped: the namespace is cleared.
	if err := rest.EnsureObjectNamespaceMatchesRequestNamespace("", crd); err != nil {
		return nil, nil, "", err
	}
	headers := &headers{}
	for _, text := range strict {
		headers.add(yamlWarnings(text)...)
	}
	crd.SetOwnerReferences(dedup(crd.GetOwnerReferences(), headers))
	crd.SetManagedFields(nil) // the field manager rewrites them
	return crd, headers, version, nil
}

// answered returns the answer for a validated CRD.
func answered(crd *apiextensions.CustomResourceDefinition, errs field.ErrorList, headers *headers) (*Registered, Answer) {
	answer := Answer{Warnings: headers.sent(), Errors: FieldErrorsOf(errs)}
	r, err := registered(crd)
	if err != nil {
		return nil, Answer{Rejection: rejectionOf(err), DecodeError: err.Error()}
	}
	if len(errs) == 0 {
		if answer.Object, err = Canonical(r.Stored); err != nil {
			return nil, Answer{Rejection: rejectionOf(err), DecodeError: err.Error()}
		}
		answer.Generation, answer.StoredVersions = r.Stored.Generation, r.Stored.Status.StoredVersions
	}
	return r, answer
}

// decodeCRD reproduces the decoding of a create request on the CRD endpoint of the manifest's version. It also returns
// this version.
func decodeCRD(manifest []byte, yaml bool) (*apiextensions.CustomResourceDefinition, []string, string, error) {
	serializer := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme,
		jsonserializer.SerializerOptions{Strict: true, Yaml: yaml})
	decoder := codecs.DecoderToVersion(serializer, schema.GroupVersion{Group: apiextensions.GroupName, Version: runtime.APIVersionInternal})
	obj, gvk, err := decoder.Decode(manifest, nil, nil)
	var strict []string
	if err != nil {
		strictErr, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			if gvk != nil && gvk.Kind == kind && gvk.Group == apiextensions.GroupName {
				// transformDecodeError, on the endpoint of the manifest's version
				return nil, nil, "", apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind, gvk.Version, kind, err))
			}
			return nil, nil, "", apierrors.NewBadRequest(err.Error())
		}
		for _, e := range strictErr.Errors() {
			strict = append(strict, e.Error())
		}
	}
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil, strict, "", apierrors.NewBadRequest(fmt.Sprintf("%T is not a CustomResourceDefinition", obj))
	}
	return crd, strict, gvk.Version, nil
}

// registered stores a CRD and reads it back.
func registered(crd *apiextensions.CustomResourceDefinition) (*Registered, error) {
	stored, err := stored(crd)
	if err != nil {
		return nil, err
	}
	v1 := stored.DeepCopy()
	v1.Status.AcceptedNames = v1.Spec.Names
	v1.Status.Conditions = conditions(true)
	return &Registered{Internal: crd, Stored: stored, V1: v1}, nil
}

// written returns the JSON that is stored.
func written(crd *apiextensions.CustomResourceDefinition) ([]byte, error) {
	out := &apiextensionsv1.CustomResourceDefinition{}
	if err := scheme.Convert(crd.DeepCopy(), out, nil); err != nil {
		return nil, err
	}
	out.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind(kind))
	return json.Marshal(out)
}

// stored stores a CRD and reads it back, as a server does before the handlers use it.
func stored(crd *apiextensions.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	doc, err := written(crd)
	if err != nil {
		return nil, err
	}
	return read(doc)
}

// read reads a CRD from storage. It converts through the internal version, where -0 becomes 0.
func read(doc []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	held, _, err := codecs.UniversalDeserializer().Decode(doc, nil, &apiextensionsv1.CustomResourceDefinition{})
	if err != nil {
		return nil, err
	}
	internal, v1 := &apiextensions.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
	if err := scheme.Convert(held, internal, nil); err != nil {
		return nil, err
	}
	if err := scheme.Convert(internal, v1, nil); err != nil {
		return nil, err
	}
	v1.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind(kind))
	return v1, nil
}

// conditions returns those of a CRD with accepted names that is served, or will be.
func conditions(established bool) []apiextensionsv1.CustomResourceDefinitionCondition {
	serving := apiextensionsv1.ConditionFalse
	if established {
		serving = apiextensionsv1.ConditionTrue
	}
	return []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: metav1.Time{}},
		{Type: apiextensionsv1.Established, Status: serving, LastTransitionTime: metav1.Time{}},
	}
}
