package builtin

import (
	"context"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Resource describes the storage of a resource.
type Resource struct {
	Scheme  *runtime.Scheme
	Version schema.GroupVersion // in which objects are stored
	// Plural and Singular are the names of the resource.
	Plural, Singular string
	New, NewList     func() runtime.Object
	Strategy         *Strategy
	// Fields returns the fields that selectors can name, besides name and namespace. Nil: no others.
	Fields  func(runtime.Object) fields.Set
	Columns []Column
}

// Strategy prepares and validates the objects of a resource.
type Strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	Namespaced bool
	// Unconditional allows updates without a resourceVersion.
	Unconditional bool
	// CreateOnUpdate allows updates of objects that do not exist.
	CreateOnUpdate bool
	// Prepare completes an object, and copies from the old one what a write may not change. old is nil on a creation.
	Prepare func(obj, old runtime.Object)
	// CheckName validates the name of an object. Default: names are DNS subdomains.
	CheckName validation.ValidateNameFunc
	// Check returns field errors besides those of the metadata. old is nil on a creation.
	Check func(obj, old runtime.Object) field.ErrorList
	// Reset are the fields that Prepare overwrites.
	Reset *fieldpath.Set
}

// NamespaceScoped implements rest.RESTCreateStrategy.
func (s *Strategy) NamespaceScoped() bool { return s.Namespaced }

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (s *Strategy) AllowCreateOnUpdate(context.Context) bool { return s.CreateOnUpdate }

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (s *Strategy) AllowUnconditionalUpdate(context.Context) bool { return s.Unconditional }

// Canonicalize implements rest.RESTCreateStrategy.
func (s *Strategy) Canonicalize(runtime.Object) {}

// PrepareForCreate implements rest.RESTCreateStrategy.
func (s *Strategy) PrepareForCreate(_ context.Context, obj runtime.Object) { s.prepare(obj, nil) }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s *Strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) { s.prepare(obj, old) }

func (s *Strategy) prepare(obj, old runtime.Object) {
	if s.Prepare != nil {
		s.Prepare(obj, old)
	}
}

// Validate implements rest.RESTCreateStrategy.
func (s *Strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return s.check(obj, nil)
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s *Strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.check(obj, old)
}

func (s *Strategy) check(obj, old runtime.Object) field.ErrorList {
	checkName, m, at := s.CheckName, obj.(metav1.Object), field.NewPath("metadata")
	if checkName == nil {
		checkName = validation.NameIsDNSSubdomain
	}
	all := validation.ValidateObjectMetaAccessor(m, s.Namespaced, checkName, at)
	if old != nil {
		all = append(all, validation.ValidateObjectMetaAccessorUpdate(m, old.(metav1.Object), at)...)
	}
	if s.Check != nil {
		all = append(all, s.Check(obj, old)...)
	}
	return all
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (s *Strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (s *Strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// resetFields implements rest.ResetFieldsStrategy.
type resetFields struct {
	version schema.GroupVersion
	set     *fieldpath.Set
}

func (r resetFields) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if r.set == nil {
		return nil
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(r.version.String()): r.set}
}

// NewStore returns the store of a resource. The getter's codec is not used.
func NewStore(r Resource, getter generic.RESTOptionsGetter) (*genericregistry.Store, error) {
	strategy := *r.Strategy
	strategy.ObjectTyper, strategy.NameGenerator = r.Scheme, names.SimpleNameGenerator
	var attributes storage.AttrFunc = func(obj runtime.Object) (labels.Set, fields.Set, error) {
		m := obj.(metav1.Object)
		set := fields.Set{"metadata.name": m.GetName()}
		if strategy.Namespaced {
			set["metadata.namespace"] = m.GetNamespace()
		}
		if r.Fields != nil {
			for name, value := range r.Fields(obj) {
				set[name] = value
			}
		}
		return m.GetLabels(), set, nil
	}
	store := &genericregistry.Store{
		NewFunc:     r.New,
		NewListFunc: r.NewList,
		PredicateFunc: func(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
			return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes}
		},
		DefaultQualifiedResource:  r.Version.WithResource(r.Plural).GroupResource(),
		SingularQualifiedResource: r.Version.WithResource(r.Singular).GroupResource(),
		CreateStrategy:            &strategy,
		UpdateStrategy:            &strategy,
		DeleteStrategy:            &strategy,
		ResetFieldsStrategy:       resetFields{r.Version, strategy.Reset},
		TableConvertor:            Table(r.Columns),
	}
	codec := serializer.NewCodecFactory(r.Scheme).LegacyCodec(r.Version)
	return store, store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: withCodec{getter, codec, r.Version}, AttrFunc: attributes})
}

// WithStrategy returns a store of the same objects for a subresource. The subresource does not destroy the store.
func WithStrategy(store *genericregistry.Store, version schema.GroupVersion, s *Strategy) *genericregistry.Store {
	other, strategy := *store, *s
	strategy.ObjectTyper, strategy.NameGenerator = store.CreateStrategy, store.CreateStrategy
	other.UpdateStrategy, other.ResetFieldsStrategy = &strategy, resetFields{version, s.Reset}
	return &other
}

// Subresource serves a subresource that reads and writes the whole object.
type Subresource struct{ Store *genericregistry.Store }

// New implements rest.Storage.
func (s Subresource) New() runtime.Object { return s.Store.New() }

// Destroy implements rest.Storage. The store of the objects is destroyed once, by the resource.
func (s Subresource) Destroy() {}

// Get implements rest.Getter.
func (s Subresource) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	return s.Store.Get(ctx, name, o)
}

// Update implements rest.Updater.
func (s Subresource) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return s.Store.Update(ctx, name, info, create, update, false, o)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s Subresource) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.Store.GetResetFields()
}

// withCodec sets the codec of the storage.
type withCodec struct {
	generic.RESTOptionsGetter
	codec   runtime.Codec
	version schema.GroupVersion
}

func (g withCodec) GetRESTOptions(r schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	o, err := g.RESTOptionsGetter.GetRESTOptions(r, example)
	if err == nil {
		config := *o.StorageConfig
		config.Codec, config.EncodeVersioner = g.codec, g.version
		o.StorageConfig = &config
	}
	return o, err
}
