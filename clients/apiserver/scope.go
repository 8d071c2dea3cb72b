package apiserver

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/engine"
)

// typer knows the kinds of custom resources and of the options of requests.
type typer struct {
	options, objects runtime.ObjectTyper
}

func newTyper(options runtime.ObjectTyper) typer {
	return typer{options, crdserverscheme.NewUnstructuredObjectTyper()}
}

func (t typer) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if _, ok := obj.(runtime.Unstructured); ok {
		return t.objects.ObjectKinds(obj)
	}
	return t.options.ObjectKinds(obj)
}

func (t typer) Recognizes(kind schema.GroupVersionKind) bool {
	return t.options.Recognizes(kind) || t.objects.Recognizes(kind)
}

type creater struct{}

func (creater) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// defaulter fills in defaults after server-side apply, and after a webhook has changed the object. It keeps nulls, because
// managed fields know them.
type defaulter struct {
	definition Definition
	ctx        context.Context // of the request: upstream's defaulters have no context
}

func (d defaulter) Default(obj runtime.Object) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if err := d.fill(u); err != nil {
		outcomeOf(d.ctx).unevaluated = unevaluated(err) // upstream's defaulters return no error: the store rejects the object
	}
}

func (d defaulter) fill(u *unstructured.Unstructured) error {
	text, err := marshal(u)
	if err != nil {
		return err
	}
	out, err := d.definition.SetDefaults(d.ctx, engine.JSON(text), engine.TransformOptions{})
	if err != nil || !out.Changed {
		return err
	}
	return unmarshal(out.Object, u)
}

// converter converts objects between the versions of one CRD.
type converter struct {
	definition Definition
	selectable map[schema.GroupVersion][]string // of each version: the fields that a field selector can name, not nil
	// sameContent is true for the strategy None, which changes only apiVersion. Field managers need the fields that the
	// other version does not declare. Convert of the Definition drops them, as the storage does.
	sameContent bool
}

func newConverter(d Definition, crd *apiextensionsv1.CustomResourceDefinition) converter {
	conversion := crd.Spec.Conversion
	none := conversion == nil || conversion.Strategy == apiextensionsv1.NoneConverter
	c := converter{d, map[schema.GroupVersion][]string{}, none}
	for i := range crd.Spec.Versions {
		v := crd.Spec.Versions[i].Name
		c.selectable[schema.GroupVersion{Group: crd.Spec.Group, Version: v}] = append([]string{}, selectableFields(d, v)...)
	}
	return c
}

func (c converter) Convert(in, out, _ any) error {
	from, ok := in.(*unstructured.Unstructured)
	to, isObject := out.(*unstructured.Unstructured)
	if !ok || !isObject {
		return fmt.Errorf("cannot convert a %T to a %T", in, out)
	}
	converted, err := c.ConvertToVersion(from, to.GroupVersionKind().GroupVersion())
	if err == nil {
		to.Object = converted.(*unstructured.Unstructured).Object
	}
	return err
}

func (c converter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil // options, a Status, or a list, which has the version of the endpoint
	}
	from := u.GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	switch {
	case !ok:
		return nil, fmt.Errorf("%v is unstructured and is not suitable for converting to %q", from.String(), target)
	case c.selectable[to.GroupVersion()] == nil:
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", to.GroupVersion().String())
	case c.selectable[from.GroupVersion()] == nil:
		return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", from.GroupVersion().String())
	case to.Version == from.Version:
		return in, nil
	case c.sameContent:
		u = u.DeepCopy()
		u.SetAPIVersion(to.GroupVersion().String())
		return u, nil
	}
	return convert(c.definition, u, to.Version)
}

func (c converter) ConvertFieldLabel(kind schema.GroupVersionKind, label, value string) (string, string, error) {
	if slices.Contains(c.selectable[kind.GroupVersion()], label) {
		return label, value, nil
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

// serializer offers the media types of an endpoint.
type serializer struct {
	definition Definition
	kind       schema.GroupVersionKind
	converter  converter
	media      []runtime.SerializerInfo
	ctx        context.Context // of the request
	store      *objectStore    // of the objects of the request
}

// forRequest returns a copy of the scope whose decoders and defaulters have the context of a request, and whose decoders
// have the store of its objects.
func (s *endpointScope) forRequest(ctx context.Context, store *objectStore) (*handlers.RequestScope, error) {
	out := s.RequestScope
	own := out.Serializer.(serializer)
	own.ctx, own.store = ctx, store
	out.Serializer, out.Defaulter = own, defaulter{own.definition, ctx}
	if info, ok := genericapirequest.RequestInfoFrom(ctx); !ok || info.Verb != "patch" {
		return &out, nil
	}
	var err error
	out.FieldManager, err = s.fieldManager(out.Defaulter)
	return &out, err
}

func newSerializer(d Definition, kind schema.GroupVersionKind, c converter, t runtime.ObjectTyper) serializer {
	of := func(o serializerjson.SerializerOptions) runtime.Serializer {
		inner := serializerjson.NewSerializerWithOptions(serializerjson.DefaultMetaFactory, creater{}, t, o)
		return bodySerializer{inner, !o.Yaml, o.Strict, o.Pretty}
	}
	s := serializer{d, kind, c, []runtime.SerializerInfo{{
		MediaType: "application/json", MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
		Serializer:       of(serializerjson.SerializerOptions{StreamingCollectionsEncoding: true}),
		PrettySerializer: of(serializerjson.SerializerOptions{Pretty: true}),
		StrictSerializer: of(serializerjson.SerializerOptions{Strict: true, StreamingCollectionsEncoding: true}),
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true, Serializer: of(serializerjson.SerializerOptions{}), Framer: serializerjson.Framer,
		},
	}, {
		MediaType: "application/yaml", MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
		Serializer:       of(serializerjson.SerializerOptions{Yaml: true}),
		StrictSerializer: of(serializerjson.SerializerOptions{Yaml: true, Strict: true}),
	}, {
		// Only the metadata and the tables of custom resources can be encoded in protobuf.
		MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer:       protobuf.NewSerializerWithOptions(creater{}, t, protobuf.SerializerOptions{StreamingCollectionsEncoding: true}),
		StreamSerializer: &runtime.StreamSerializerInfo{Serializer: protobuf.NewRawSerializer(creater{}, t), Framer: protobuf.LengthDelimitedFramer},
	}}, background, nil}
	if utilfeature.DefaultFeatureGate.Enabled(features.CBORServingAndStorage) {
		info := cbor.NewSerializerInfo(creater{}, t)
		info.Serializer = bodySerializer{Serializer: info.Serializer}
		info.StrictSerializer = bodySerializer{Serializer: info.StrictSerializer, strict: true}
		s.media = append(s.media, info)
	}
	return s
}

func (s serializer) SupportedMediaTypes() []runtime.SerializerInfo { return s.media }

// EncoderForVersion returns an encoder that also sets the kind of a Status.
func (s serializer) EncoderForVersion(e runtime.Encoder, version runtime.GroupVersioner) runtime.Encoder {
	return versioning.NewCodec(e, nil, s.converter, crdserver.Scheme, crdserver.Scheme, crdserver.Scheme, version, nil, "crdeval")
}

func (s serializer) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	body, ok := d.(bodySerializer)
	if !ok {
		return d
	}
	return bodyDecoder{body, s.ctx, s.definition, s.kind, s.store}
}

// newScope returns the scope of the requests for a version, without a field manager.
func newScope(d Definition, crd *apiextensionsv1.CustomResourceDefinition, kind schema.GroupVersionKind) handlers.RequestScope {
	options := runtime.NewScheme()
	options.AddUnversionedTypes(kind.GroupVersion(), &metav1.ListOptions{}, &metav1.GetOptions{}, &metav1.DeleteOptions{})
	t := newTyper(options)
	c := newConverter(d, crd)
	s := newSerializer(d, kind, c, t)
	return handlers.RequestScope{
		Namer:                    handlers.ContextBasedNaming{Namer: meta.NewAccessor(), ClusterScoped: crd.Spec.Scope == apiextensionsv1.ClusterScoped},
		Serializer:               s,
		ParameterCodec:           runtime.NewParameterCodec(options),
		StandardSerializers:      withoutProtobuf(s.media),
		Creater:                  creater{},
		Convertor:                c,
		UnsafeConvertor:          c,
		Defaulter:                defaulter{d, background},
		Typer:                    t,
		EquivalentResourceMapper: equivalentResources(crd),
		Resource:                 kind.GroupVersion().WithResource(crd.Status.AcceptedNames.Plural),
		Kind:                     kind,
		HubGroupVersion:          kind.GroupVersion(),
		MetaGroupVersion:         metav1.SchemeGroupVersion,
		TableConvertor:           newTableConvertor(d, crd, kind.Version),
	}
}

// withoutProtobuf returns the media types of whole objects.
func withoutProtobuf(media []runtime.SerializerInfo) []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(media), func(m runtime.SerializerInfo) bool { return m.MediaType == runtime.ContentTypeProtobuf })
}

// equivalentResources returns the kinds of all versions and their subresources, for admission webhooks that match
// equivalent resources.
func equivalentResources(crd *apiextensionsv1.CustomResourceDefinition) runtime.EquivalentResourceMapper {
	all := runtime.NewEquivalentResourceRegistry()
	for _, v := range crd.Spec.Versions {
		version := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		resource, kind := version.WithResource(crd.Status.AcceptedNames.Plural), version.WithKind(crd.Status.AcceptedNames.Kind)
		all.RegisterKindFor(resource, "", kind)
		if v.Subresources != nil && v.Subresources.Status != nil {
			all.RegisterKindFor(resource, "status", kind)
		}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			all.RegisterKindFor(resource, "scale", scaleKind)
		}
	}
	return all
}

// endpointScope is the scope of an endpoint, with what its field managers need.
type endpointScope struct {
	handlers.RequestScope
	types managedfields.TypeConverter
	reset map[fieldpath.APIVersion]fieldpath.Filter
}

// withFieldManager returns a copy of the scope for a subresource, with its field manager.
func withFieldManager(s handlers.RequestScope, types managedfields.TypeConverter, subresource string, reset map[fieldpath.APIVersion]*fieldpath.Set) (*endpointScope, error) {
	s.Subresource = subresource
	out := &endpointScope{s, types, fieldpath.NewExcludeFilterSetMap(reset)}
	var err error
	out.FieldManager, err = out.fieldManager(s.Defaulter)
	return out, err
}

// fieldManager returns the field manager with a defaulter. Only server-side apply sets defaults.
func (s *endpointScope) fieldManager(d runtime.ObjectDefaulter) (*managedfields.FieldManager, error) {
	return managedfields.NewDefaultCRDFieldManager(s.types, s.Convertor, d, s.Creater, s.Kind, s.HubGroupVersion, s.Subresource, s.reset)
}
