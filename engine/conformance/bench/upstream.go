package bench

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	structurallisttype "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/registry/rest"
)

// upstream is one version as the API server's custom resource handler holds it, driven without anything that the server
// does around it: no negotiation, no admission, no managed fields, no database.
type upstream struct {
	kind      schema.GroupVersionKind
	decoder   runtime.Decoder
	schema    *structuralschema.Structural
	validator validation.SchemaValidator
	hasStatus bool
	strategy  rest.RESTCreateStrategy
}

// creator makes empty objects for the decoder, as unstructuredCreator of upstream's handler.
type creator struct{}

func (creator) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

func newUpstream(o *object) (*upstream, error) {
	v, err := o.version()
	if err != nil {
		return nil, err
	}
	typer := crdserverscheme.NewUnstructuredObjectTyper()
	u := &upstream{
		kind: schema.GroupVersionKind{Group: o.crd.Spec.Group, Version: v.Name, Kind: o.crd.Spec.Names.Kind},
		decoder: jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, creator{}, typer,
			jsonserializer.SerializerOptions{Strict: true}),
		hasStatus: v.Subresources != nil && v.Subresources.Status != nil,
	}
	if u.schema, u.validator, _, err = compileUpstream(v); err != nil {
		return nil, err
	}
	var status *apiextensions.CustomResourceSubresourceStatus
	if u.hasStatus {
		status = &apiextensions.CustomResourceSubresourceStatus{}
	}
	u.strategy = customresource.NewStrategy(typer, o.crd.Spec.Scope == apiextensionsv1.NamespaceScoped, u.kind, u.validator, nil, u.schema, status, nil, nil)
	return u, nil
}

// compileUpstream makes of one version what serving needs to judge its objects, as crdHandler.getOrCreateServingInfoFor
// does, its two conversions to the internal version included; what serving builds beside that (codecs, converters,
// models for server-side apply) is left out. The rules are compiled as NewStrategy does.
func compileUpstream(v *apiextensionsv1.CustomResourceDefinitionVersion) (*structuralschema.Structural, validation.SchemaValidator, *cel.Validator, error) {
	props, err := internalSchema(v)
	if err != nil {
		return nil, nil, nil, err
	}
	s, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, nil, nil, err
	}
	s = s.DeepCopy()
	if err := structuraldefaulting.PruneDefaults(s); err != nil {
		return nil, nil, nil, err
	}
	if props, err = internalSchema(v); err != nil {
		return nil, nil, nil, err
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, nil, nil, err
	}
	return s, validator, cel.NewValidator(s, true, celconfig.PerCallLimit), nil
}

func internalSchema(v *apiextensionsv1.CustomResourceDefinitionVersion) (*apiextensions.JSONSchemaProps, error) {
	if v.Schema == nil {
		return nil, fmt.Errorf("bench: version %s has no schema", v.Name)
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, internal, nil); err != nil {
		return nil, err
	}
	return internal.OpenAPIV3Schema, nil
}

// shape decodes a create's body strictly, coerces metadata, prunes, drops nulls and fills in defaults.
func (u *upstream) shape(body []byte) (*unstructured.Unstructured, error) {
	obj, _, err := u.decoder.Decode(body, &u.kind, &unstructured.Unstructured{})
	if err != nil {
		return nil, err
	}
	object := obj.(*unstructured.Unstructured)
	content := object.Object
	meta, found, unknown, err := schemaobjectmeta.GetObjectMetaWithOptions(content, schemaobjectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	pruned := structuralpruning.PruneWithOptions(content, u.schema, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(content, u.schema)
	embedded, more := schemaobjectmeta.CoerceWithOptions(nil, content, u.schema, false, schemaobjectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if embedded != nil {
		return nil, embedded
	}
	if n := len(unknown) + len(pruned) + len(more); n > 0 {
		return nil, fmt.Errorf("%d unknown fields", n)
	}
	if found {
		if err := schemaobjectmeta.SetObjectMeta(content, meta); err != nil {
			return nil, err
		}
	}
	structuraldefaulting.Default(content, u.schema)
	return object, nil
}

// structural is a create up to list types, without the validation of the object's own metadata.
func (u *upstream) structural(body []byte) (*unstructured.Unstructured, error) {
	object, err := u.shape(body)
	if err != nil {
		return nil, err
	}
	u.strategy.PrepareForCreate(context.Background(), object)
	errs := validation.ValidateCustomResource(nil, object.Object, u.validator)
	errs = append(errs, schemaobjectmeta.Validate(context.Background(), nil, object.Object, u.schema, false)...)
	errs = append(errs, structurallisttype.ValidateListSetsAndMaps(nil, u.schema, object.Object)...)
	return object, errs.ToAggregate()
}

// judge is a create up to the verdict.
func (u *upstream) judge(body []byte) (*unstructured.Unstructured, field.ErrorList, error) {
	object, err := u.shape(body)
	if err != nil {
		return nil, nil, err
	}
	u.strategy.PrepareForCreate(context.Background(), object)
	return object, u.strategy.Validate(context.Background(), object), nil
}

// create is the whole create.
func (u *upstream) create(body []byte) (*unstructured.Unstructured, error) {
	object, errs, err := u.judge(body)
	if err == nil && len(errs) > 0 {
		err = errors.New(errs.ToAggregate().Error())
	}
	return object, err
}

// admit is the whole create, and what comes of it.
func (u *upstream) admit(body []byte) (written, error) {
	object, err := u.create(body)
	if err != nil {
		return written{}, err
	}
	return u.write(object)
}

// rejected is the whole create of an object with field errors: the field errors, and the answer that a client gets, as
// rest.BeforeCreate makes it.
func (u *upstream) rejected(body []byte) (field.ErrorList, *apierrors.StatusError, error) {
	object, errs, err := u.judge(body)
	switch {
	case err != nil:
		return nil, nil, err
	case len(errs) == 0:
		return nil, nil, errors.New("no field errors")
	}
	return errs, apierrors.NewInvalid(u.kind.GroupKind(), object.GetName(), errs), nil
}
