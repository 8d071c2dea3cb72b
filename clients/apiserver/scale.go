package apiserver

import (
	"context"
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	codecs "k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/scale"

	"github.com/crdeval/crdeval/engine"
)

// scaleStore serves the scale subresource.
type scaleStore struct {
	store      objectStore
	definition Definition
	version    schema.GroupVersion
	mappings   managedfields.ResourcePathMappings
}

func (s scaleStore) New() runtime.Object { return &autoscalingv1.Scale{} }
func (s scaleStore) Destroy()            {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (s scaleStore) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

func (s scaleStore) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	obj, err := s.store.Get(ctx, name, o)
	if err != nil {
		return nil, err
	}
	return s.scaleOf(ctx, obj)
}

// scaleOf returns the Scale of an object.
func (s scaleStore) scaleOf(ctx context.Context, obj runtime.Object) (*autoscalingv1.Scale, error) {
	text, err := marshal(obj.(*unstructured.Unstructured))
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
		scale, err := s.scaleOf(ctx, obj)
		if err == nil {
			err = create(ctx, scale)
		}
		return err
	}
	validate := func(ctx context.Context, obj, old runtime.Object) error {
		scale, err := s.scaleOf(ctx, obj)
		if err != nil {
			return err
		}
		before, err := s.scaleOf(ctx, old)
		if err == nil {
			err = update(ctx, scale, before)
		}
		return err
	}
	obj, _, err := s.store.Update(ctx, name, scaledObject{info, s}, validateCreate, validate, false, o)
	if err != nil {
		return nil, false, err
	}
	out, err := s.scaleOf(ctx, obj)
	return out, false, err
}

// scaledObject is an object updated by a Scale.
type scaledObject struct {
	rest.UpdatedObjectInfo
	scaleStore
}

func (u scaledObject) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	object := old.DeepCopyObject().(*unstructured.Unstructured)
	before, err := u.scaleOf(ctx, object)
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
	scale.APIVersion, scale.Kind = autoscalingv1.SchemeGroupVersion.String(), "Scale"
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

// newScaleScope returns the scope of the scale subresource.
func newScaleScope(s handlers.RequestScope, types managedfields.TypeConverter) (*handlers.RequestScope, error) {
	s.Serializer = codecs.NewCodecFactory(scale.NewScaleConverter().Scheme(), codecs.WithStreamingCollectionEncodingToJSON())
	s.Kind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	s.TableConvertor = rest.NewDefaultTableConvertor(s.Resource.GroupResource())
	return withFieldManager(s, types, "scale", nil)
}
