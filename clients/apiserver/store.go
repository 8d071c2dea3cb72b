package apiserver

import (
	"context"
	"slices"
	"strings"

	crdfeatures "k8s.io/apiextensions-apiserver/pkg/features"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/crdeval/crdeval/engine"
)

// objectStore serves the objects of one version.
type objectStore struct {
	*genericregistry.Store
}

func (s objectStore) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, o *metav1.CreateOptions) (runtime.Object, error) {
	created, err := s.Store.Create(ctx, obj, validate, o)
	return created, rejection(ctx, err)
}

func (s objectStore) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, forceCreate bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	updated, created, err := s.Store.Update(ctx, name, info, create, update, forceCreate, o)
	return updated, created, rejection(ctx, err)
}

// rejection returns the error for a write that the evaluator rejected, and err for another.
func rejection(ctx context.Context, err error) error {
	if out := outcomeOf(ctx); err != nil && out.err != nil {
		return out.err
	}
	return err
}

// statusStore serves the status subresource.
type statusStore struct{ store objectStore }

func (s statusStore) New() runtime.Object { return s.store.New() }
func (s statusStore) Destroy()            {} // the store of the objects destroys what they share

func (s statusStore) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, o)
}

func (s statusStore) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return s.store.Update(ctx, name, info, create, update, false, o)
}

// newStore returns the store of a version's objects.
func newStore(d Definition, kind, listKind schema.GroupVersionKind, resource, singular schema.GroupResource, s *strategy, table rest.TableConvertor, getter generic.RESTOptionsGetter) (objectStore, error) {
	store := &genericregistry.Store{
		NewFunc: func() runtime.Object {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(kind)
			return u
		},
		NewListFunc: func() runtime.Object {
			u := &unstructured.UnstructuredList{}
			u.SetGroupVersionKind(listKind)
			return u
		},
		PredicateFunc: func(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
			return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes(d, kind.Version, s.namespaced)}
		},
		DefaultQualifiedResource:  resource,
		SingularQualifiedResource: singular,
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		TableConvertor:            table,
	}
	err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: getter, AttrFunc: attributes(d, kind.Version, s.namespaced)})
	return objectStore{store}, err
}

// selectableFields returns the fields of a served version that a field selector can name, and none for a version that
// is not served. Fields that the CRD declares depend on upstream's feature gate.
func selectableFields(d Definition, version string) []string {
	all, err := d.SelectableFields(version)
	if err != nil || utilfeature.DefaultFeatureGate.Enabled(crdfeatures.CustomResourceFieldSelectors) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f string) bool { return !strings.HasPrefix(f, "metadata.") })
}

// attributes returns the labels of an object, and the fields that a field selector can name.
func attributes(d Definition, version string, namespaced bool) storage.AttrFunc {
	declares := slices.ContainsFunc(selectableFields(d, version), func(f string) bool { return !strings.HasPrefix(f, "metadata.") })
	return func(obj runtime.Object) (labels.Set, fields.Set, error) {
		u := obj.(*unstructured.Unstructured)
		set := fields.Set{"metadata.name": u.GetName()}
		if namespaced {
			set["metadata.namespace"] = u.GetNamespace()
		}
		if declares {
			text, err := marshal(u)
			if err != nil {
				return nil, nil, err
			}
			values, err := d.Select(context.Background(), version, engine.JSON(text))
			if err != nil {
				return nil, nil, err
			}
			for _, f := range values {
				set[f.Field] = f.Value
			}
		}
		return u.GetLabels(), set, nil
	}
}
