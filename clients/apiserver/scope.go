package apiserver

import (
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/kube-openapi/pkg/validation/spec"
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

// defaulter fills in defaults after a patch was applied. It keeps nulls, because managed fields know them.
type defaulter struct{ definition Definition }

func (d defaulter) Default(obj runtime.Object) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	text, err := marshal(u)
	if err != nil {
		return
	}
	out, err := d.definition.Default(background, engine.Item{Object: engine.JSON(text)}, engine.EvaluationOptions{KeepNulls: true})
	if err == nil && out.Changed {
		_ = unmarshal(out.Object, u) // on an error the object stays as it is, and StageFinish reports its defect
	}
}

// converter converts objects between the versions of one CRD.
type converter struct{ definition Definition }

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
	if !ok || to.Version == from.Version {
		return in, nil
	}
	text, err := marshal(u)
	if err == nil {
		text, err = convert(c.definition, text, from.Version, to.Version)
	}
	out := &unstructured.Unstructured{}
	if err == nil {
		err = unmarshal(text, out)
	}
	return out, err
}

func (c converter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil // selectors of unknown fields are rejected when the version's labels are checked
}

// serializer offers JSON and YAML for an endpoint.
type serializer struct {
	definition Definition
	kind       schema.GroupVersionKind
	media      []runtime.SerializerInfo
}

func newSerializer(d Definition, kind schema.GroupVersionKind, t runtime.ObjectTyper) serializer {
	of := func(o serializerjson.SerializerOptions) runtime.Serializer {
		inner := serializerjson.NewSerializerWithOptions(serializerjson.DefaultMetaFactory, creater{}, t, o)
		return bodySerializer{inner, o.Yaml, o.Strict}
	}
	return serializer{d, kind, []runtime.SerializerInfo{{
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
	}}}
}

func (s serializer) SupportedMediaTypes() []runtime.SerializerInfo { return s.media }

func (s serializer) EncoderForVersion(e runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return e
}

func (s serializer) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	body, ok := d.(bodySerializer)
	if !ok {
		return d
	}
	return bodyDecoder{s.definition, s.kind, body.Serializer, body.yaml, body.strict}
}

// newTypeConverter returns what the field manager knows about the types of a CRD.
func newTypeConverter(d Definition, preserve bool) (managedfields.TypeConverter, error) {
	text, err := d.Models(background)
	if err != nil {
		return nil, err
	}
	var document struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Components.Schemas) == 0 {
		return managedfields.NewDeducedTypeConverter(), nil
	}
	return managedfields.NewTypeConverter(document.Components.Schemas, preserve)
}

// newScope returns the scope of the requests for a version, without a field manager.
func newScope(d Definition, crd *apiextensionsv1.CustomResourceDefinition, kind schema.GroupVersionKind) handlers.RequestScope {
	options := runtime.NewScheme()
	options.AddUnversionedTypes(kind.GroupVersion(), &metav1.ListOptions{}, &metav1.GetOptions{}, &metav1.DeleteOptions{})
	t := newTyper(options)
	s := newSerializer(d, kind, t)
	c := converter{d}
	return handlers.RequestScope{
		Namer:                    handlers.ContextBasedNaming{Namer: meta.NewAccessor(), ClusterScoped: crd.Spec.Scope == apiextensionsv1.ClusterScoped},
		Serializer:               s,
		ParameterCodec:           runtime.NewParameterCodec(options),
		StandardSerializers:      s.media,
		Creater:                  creater{},
		Convertor:                c,
		UnsafeConvertor:          c,
		Defaulter:                defaulter{d},
		Typer:                    t,
		EquivalentResourceMapper: runtime.NewEquivalentResourceRegistry(),
		Resource:                 kind.GroupVersion().WithResource(crd.Status.AcceptedNames.Plural),
		Kind:                     kind,
		HubGroupVersion:          kind.GroupVersion(),
		MetaGroupVersion:         metav1.SchemeGroupVersion,
		TableConvertor:           tableConvertor{d, kind.Version},
	}
}

// withFieldManager returns a copy of the scope for a subresource, with its field manager.
func withFieldManager(s handlers.RequestScope, types managedfields.TypeConverter, subresource string, reset map[fieldpath.APIVersion]*fieldpath.Set) (*handlers.RequestScope, error) {
	m, err := managedfields.NewDefaultCRDFieldManager(types, s.Convertor, s.Defaulter, s.Creater, s.Kind, s.HubGroupVersion,
		subresource, fieldpath.NewExcludeFilterSetMap(reset))
	s.FieldManager, s.Subresource = m, subresource
	return &s, err
}
