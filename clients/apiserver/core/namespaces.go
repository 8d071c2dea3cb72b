package core

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/clients/apiserver/internal/builtin"
)

func registerNamespaces(s *runtime.Scheme) {
	s.AddTypeDefaultingFunc(&corev1.Namespace{}, func(obj any) {
		n := obj.(*corev1.Namespace)
		if n.Name == "" || n.Labels[corev1.LabelMetadataName] == n.Name {
			return
		}
		n.Labels = maps.Clone(n.Labels)
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[corev1.LabelMetadataName] = n.Name
	})
	utilruntime.Must(s.AddFieldLabelConversionFunc(corev1.SchemeGroupVersion.WithKind("Namespace"), label("metadata.name", "name", "status.phase")))
}

// label returns a function that accepts the names of fields.
func label(names ...string) runtime.FieldLabelConversionFunc {
	return func(name, value string) (string, string, error) {
		if slices.Contains(names, name) {
			return name, value, nil
		}
		return runtime.DefaultMetaV1FieldSelectorConversion(name, value)
	}
}

// namespaceStrategy is that of the main resource: the status and the finalizers of the spec have their own endpoints.
var namespaceStrategy = &builtin.Strategy{
	Unconditional: true,
	Prepare: func(obj, old runtime.Object) {
		n := obj.(*corev1.Namespace)
		if old == nil {
			n.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
			if !slices.Contains(n.Spec.Finalizers, corev1.FinalizerKubernetes) {
				n.Spec.Finalizers = append(n.Spec.Finalizers, corev1.FinalizerKubernetes)
			}
			return
		}
		before := old.(*corev1.Namespace)
		n.Spec.Finalizers, n.Status = before.Spec.Finalizers, before.Status
	},
	CheckName: validation.ValidateNamespaceName, Check: checkNamespace,
	Reset: fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
}

var namespaceStatusStrategy = &builtin.Strategy{
	Unconditional: true,
	Prepare: func(obj, old runtime.Object) {
		obj.(*corev1.Namespace).Spec = old.(*corev1.Namespace).Spec
	},
	CheckName: validation.ValidateNamespaceName,
	Check: func(obj, old runtime.Object) field.ErrorList {
		n := obj.(*corev1.Namespace)
		all := checkNamespace(obj, old)
		path, want := field.NewPath("status", "phase"), corev1.NamespaceActive
		if !n.DeletionTimestamp.IsZero() {
			want = corev1.NamespaceTerminating
		}
		if n.Status.Phase != want {
			all = append(all, field.Invalid(path, n.Status.Phase, "must be "+string(want)))
		}
		return all
	},
	Reset: fieldpath.NewSet(fieldpath.MakePathOrDie("spec")),
}

var namespaceFinalizeStrategy = &builtin.Strategy{
	Prepare: func(obj, old runtime.Object) {
		obj.(*corev1.Namespace).Status = old.(*corev1.Namespace).Status
	},
	CheckName: validation.ValidateNamespaceName, Check: checkNamespace,
	Reset: fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
}

func checkNamespace(obj, _ runtime.Object) (all field.ErrorList) {
	for i, name := range obj.(*corev1.Namespace).Spec.Finalizers {
		at := field.NewPath("spec", "finalizers").Index(i)
		for _, detail := range utilvalidation.IsQualifiedName(string(name)) {
			all = append(all, field.Invalid(at, name, detail))
		}
	}
	return all
}

// limited are the operations of namespaces. They cannot be deleted as a collection.
type limited interface {
	rest.Storage
	rest.Scoper
	rest.Getter
	rest.Lister
	rest.CreaterUpdater
	rest.Watcher
	rest.SingularNameProvider
	rest.StorageVersionProvider
	rest.ResetFieldsStrategy
}

// namespaces serves namespaces.
type namespaces struct {
	limited
	store *genericregistry.Store
}

// ShortNames implements rest.ShortNamesProvider.
func (namespaces) ShortNames() []string { return []string{"ns"} }

// newNamespaces returns the storage of namespaces, of their status and of their finalizers.
func newNamespaces(getter generic.RESTOptionsGetter) (main namespaces, status, finalize rest.Storage, err error) {
	store, err := builtin.NewStore(builtin.Resource{
		Scheme: scheme, Version: corev1.SchemeGroupVersion, Plural: "namespaces", Singular: "namespace",
		New: func() runtime.Object { return &corev1.Namespace{} }, NewList: func() runtime.Object { return &corev1.NamespaceList{} },
		Strategy: namespaceStrategy,
		Fields: func(obj runtime.Object) fields.Set {
			n := obj.(*corev1.Namespace)
			return fields.Set{"status.phase": string(n.Status.Phase), "name": n.Name}
		},
		Columns: []builtin.Column{
			builtin.NameColumn(),
			{Name: "Status", Type: "string", Description: "The status of the namespace",
				Cell: func(obj runtime.Object) any { return string(obj.(*corev1.Namespace).Status.Phase) }},
			builtin.AgeColumn(),
		},
	}, getter)
	if err != nil {
		return main, nil, nil, err
	}
	store.ShouldDeleteDuringUpdate = func(ctx context.Context, key string, obj, existing runtime.Object) bool {
		return len(obj.(*corev1.Namespace).Spec.Finalizers) == 0 && genericregistry.ShouldDeleteDuringUpdate(ctx, key, obj, existing)
	}
	statusStore := builtin.WithStrategy(store, corev1.SchemeGroupVersion, namespaceStatusStrategy)
	finalizeStore := builtin.WithStrategy(store, corev1.SchemeGroupVersion, namespaceFinalizeStrategy)
	return namespaces{store, store}, builtin.Subresource{Store: statusStore}, finalizer{finalizeStore}, nil
}

// Delete marks a namespace as terminating while finalizers remain, and deletes it otherwise.
func (s namespaces) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, o *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, err := s.store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	n := obj.(*corev1.Namespace)
	if o == nil {
		o = metav1.NewDeleteOptions(0)
	}
	if len(n.Spec.Finalizers) == 0 {
		return s.store.Delete(ctx, name, validate, o)
	}
	key, err := s.store.KeyFunc(ctx, name)
	if err != nil {
		return nil, false, err
	}
	out := s.store.NewFunc()
	err = s.store.Storage.GuaranteedUpdate(ctx, key, out, false, preconditions(o), storage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
		n := existing.(*corev1.Namespace)
		if err := validate(ctx, n); err != nil {
			return nil, err
		}
		if n.DeletionTimestamp.IsZero() {
			now := metav1.Now()
			n.DeletionTimestamp = &now
		}
		n.Status.Phase = corev1.NamespaceTerminating
		return n, nil
	}), dryrun.IsDryRun(o.DryRun), nil)
	if err != nil {
		return nil, false, storeerr.InterpretUpdateError(err, corev1.Resource("namespaces"), name)
	}
	return out, false, nil
}

// preconditions returns the preconditions of a deletion, nil without.
func preconditions(o *metav1.DeleteOptions) *storage.Preconditions {
	if o.Preconditions == nil {
		return nil
	}
	return &storage.Preconditions{UID: o.Preconditions.UID, ResourceVersion: o.Preconditions.ResourceVersion}
}

// finalizer serves the finalizers in the spec of a namespace.
type finalizer struct{ store *genericregistry.Store }

// New implements rest.Storage.
func (s finalizer) New() runtime.Object { return s.store.New() }

// Destroy implements rest.Storage.
func (s finalizer) Destroy() {}

// Update implements rest.Updater.
func (s finalizer) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return s.store.Update(ctx, name, info, create, update, false, o)
}
