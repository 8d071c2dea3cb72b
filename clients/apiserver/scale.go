package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	codecs "k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/scale"

	"github.com/crdeval/crdeval/engine"
)

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// noReplicas is the replicas of a Scale whose object has none. Clients cannot set it.
const noReplicas = math.MinInt32

// scaleStore serves the scale subresource.
type scaleStore struct {
	store      objectStore
	definition Definition
	version    schema.GroupVersion
	mappings   managedfields.ResourcePathMappings
	replicas   []string // the path of the replicas in the object
}

func (s scaleStore) New() runtime.Object { return &autoscalingv1.Scale{} }
func (s scaleStore) Destroy()            {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (s scaleStore) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return scaleKind
}

func (s scaleStore) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	obj, err := s.store.Get(ctx, name, o)
	if err != nil {
		return nil, err
	}
	return s.scaleOf(ctx, obj.(*unstructured.Unstructured))
}

// scaleOrDefault returns the Scale of an object, with the given replicas if the object has none.
func (s scaleStore) scaleOrDefault(ctx context.Context, obj runtime.Object, missing int64) (*autoscalingv1.Scale, error) {
	u := obj.(*unstructured.Unstructured)
	if _, found, err := unstructured.NestedInt64(u.Object, s.replicas...); !found && err == nil {
		u = u.DeepCopy()
		if err := unstructured.SetNestedField(u.Object, missing, s.replicas...); err != nil {
			return nil, err
		}
	}
	return s.scaleOf(ctx, u)
}

// scaleOf returns the Scale of an object. It fails for an object without replicas.
func (s scaleStore) scaleOf(ctx context.Context, u *unstructured.Unstructured) (*autoscalingv1.Scale, error) {
	text, err := marshal(u)
	if err == nil {
		text, err = s.definition.GetScale(ctx, s.version.Version, engine.JSON(text))
	}
	if err != nil {
		return nil, unevaluated(err)
	}
	out := &autoscalingv1.Scale{}
	return out, json.Unmarshal(text, out)
}

func (s scaleStore) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	validateCreate := func(ctx context.Context, obj runtime.Object) error {
		scale, err := s.scaleOrDefault(ctx, obj, 0)
		if err == nil {
			err = create(ctx, scale)
		}
		return err
	}
	validate := func(ctx context.Context, obj, old runtime.Object) error {
		scale, err := s.scaleOrDefault(ctx, obj, 0)
		if err != nil {
			return err
		}
		before, err := s.scaleOrDefault(ctx, old, 0)
		if err == nil {
			err = update(ctx, scale, before)
		}
		return err
	}
	obj, _, err := s.store.Update(ctx, name, scaledObject{info, s}, validateCreate, validate, false, o)
	if err != nil {
		return nil, false, err
	}
	out, err := s.scaleOrDefault(ctx, obj, 0)
	return out, false, err
}

// scaledObject is an object updated by a Scale.
type scaledObject struct {
	rest.UpdatedObjectInfo
	scaleStore
}

func (u scaledObject) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	object := old.DeepCopyObject().(*unstructured.Unstructured)
	before, err := u.scaleOrDefault(ctx, object, noReplicas)
	if err != nil {
		return nil, err
	}
	fields := managedfields.NewScaleHandler(object.GetManagedFields(), u.version, u.mappings)
	if before.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, err
	}
	obj, err := u.UpdatedObjectInfo.UpdatedObject(ctx, before)
	if err != nil {
		return nil, err
	}
	scale, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("wrong object passed to Scale update: %T", obj))
	}
	if scale.Spec.Replicas == noReplicas {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", "."+strings.Join(u.replicas, ".")))
	}
	scale.SetGroupVersionKind(scaleKind)
	wanted, err := json.Marshal(scale)
	if err != nil {
		return nil, err
	}
	text, err := marshal(object)
	if err == nil {
		text, err = u.definition.SetScale(ctx, u.version.Version, engine.JSON(text), engine.JSON(wanted))
	}
	if err != nil {
		return nil, unevaluated(err)
	}
	if err := unmarshal(text, object); err != nil {
		return nil, err
	}
	managed, err := fields.ToParent(scale.ManagedFields)
	if err == nil {
		object.SetManagedFields(managed)
	}
	return object, err
}

// scaleColumns are the columns of a Scale after its name.
var scaleColumns = []apiextensionsv1.CustomResourceColumnDefinition{
	{Name: "Desired", Type: "integer", Description: "Number of desired replicas", JSONPath: ".spec.replicas"},
	{Name: "Available", Type: "integer", Description: "Number of actual replicas", JSONPath: ".status.replicas"},
	{Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"], JSONPath: ".metadata.creationTimestamp"},
}

// fieldNames returns the names on a path of the scale subresource.
func fieldNames(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// scaleScheme has the types of Scale. All CRDs share it, because it is large.
var scaleScheme = sync.OnceValue(func() *runtime.Scheme { return scale.NewScaleConverter().Scheme() })

// newScaleScope returns the scope of the scale subresource.
func newScaleScope(s handlers.RequestScope, types managedfields.TypeConverter, table rest.TableConvertor) (*endpointScope, error) {
	options := []codecs.CodecFactoryOptionsMutator{
		codecs.WithStreamingCollectionEncodingToJSON(), codecs.WithStreamingCollectionEncodingToProtobuf(),
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.CBORServingAndStorage) {
		options = append(options, codecs.WithSerializer(cbor.NewSerializerInfo))
	}
	s.Serializer = codecs.NewCodecFactory(scaleScheme(), options...)
	s.Kind, s.TableConvertor = scaleKind, table
	return withFieldManager(s, types, "scale", nil)
}
