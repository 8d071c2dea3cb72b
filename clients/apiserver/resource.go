package apiserver

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilwaitgroup "k8s.io/apimachinery/pkg/util/waitgroup"
	versions "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/names"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// background is the context of calls for which upstream's interfaces have none.
var background = context.Background()

// resource serves one CRD as it was when it was built.
type resource struct {
	definition Definition
	versions   map[string]*servedVersion
	storage    string
	requests   *utilwaitgroup.SafeWaitGroup
}

// servedVersion has the stores and scopes of a version.
type servedVersion struct {
	store                          objectStore
	status                         *statusStore // nil without the subresource
	scale                          *scaleStore  // nil without the subresource
	scope, statusScope, scaleScope *endpointScope
	deprecation                    string // the warning of a deprecated version
	served                         bool   // false for a version that is only stored
}

// newResource compiles a CRD and builds its stores.
func newResource(ctx context.Context, e Evaluator, crd *apiextensionsv1.CustomResourceDefinition, stored *storages,
	a authorizer.UnconditionalAuthorizer, maxBody int64, built fieldTypesCache) (_ *resource, err error) {
	d, err := e.Compile(ctx, crd)
	if err != nil {
		return nil, err
	}
	types, err := newFieldTypes(ctx, d, crd.Spec.PreserveUnknownFields, built)
	if err != nil {
		return nil, err
	}
	r := &resource{definition: d, versions: map[string]*servedVersion{}, requests: &utilwaitgroup.SafeWaitGroup{}}
	defer func() {
		if err != nil {
			r.destroy()
		}
	}()
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			r.storage = v.Name
		}
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if !v.Served && !v.Storage {
			continue
		}
		if r.versions[v.Name], err = r.newVersion(d, crd, v, types, stored, a, maxBody); err != nil {
			return nil, fmt.Errorf("version %s: %w", v.Name, err)
		}
	}
	return r, nil
}

func (r *resource) newVersion(d Definition, crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion,
	types managedfields.TypeConverter, stored *storages, a authorizer.UnconditionalAuthorizer, maxBody int64) (*servedVersion, error) {
	accepted := &crd.Status.AcceptedNames
	version := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
	kind := version.WithKind(accepted.Kind)
	resource := schema.GroupResource{Group: crd.Spec.Group, Resource: accepted.Plural}
	singular := schema.GroupResource{Group: crd.Spec.Group, Resource: accepted.Singular}
	scope := newScope(d, crd, kind)
	scope.Authorizer, scope.MaxRequestBodyBytes = a, maxBody
	s := &strategy{
		ObjectTyper: scope.Typer, NameGenerator: names.SimpleNameGenerator, definition: d, version: v.Name,
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		hasStatus:  v.Subresources != nil && v.Subresources.Status != nil, written: &writtenObjects{},
	}
	management, err := d.FieldManagement(v.Name)
	if err == nil { // it fails for a version that is not served, which has no writes
		s.reset = management.Sets("")
	}
	codec := storageCodec{
		d, kind, r.storage, fmt.Sprintf("crdeval/%s/%s/%d", crd.UID, v.Name, crd.Generation),
		utilfeature.DefaultFeatureGate.Enabled(features.CBORServingAndStorage), s.written,
	}
	store, err := newStore(d, kind, version.WithKind(accepted.ListKind), resource, singular, s, scope.TableConvertor, withCodec{stored, codec})
	if err != nil {
		return nil, err
	}
	if c, ok := store.Storage.Storage.(*lazyCache); ok {
		s.written.cached, c.written = func() bool { return c.cached() != nil }, s.written
	}
	out := &servedVersion{store: store, deprecation: deprecation(crd, v), served: v.Served}
	if out.scope, err = withFieldManager(scope, types, "", s.reset); err != nil {
		return out, err
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		mappings := management.Mappings()
		out.scale = &scaleStore{store, d, version, mappings, fieldNames(v.Subresources.Scale.SpecReplicasPath)}
		table, err := tableconvertor.New(scaleColumns)
		if err != nil {
			return out, err
		}
		if out.scaleScope, err = newScaleScope(scope, types, table); err != nil {
			return out, err
		}
	}
	if v.Subresources == nil || v.Subresources.Status == nil {
		return out, nil
	}
	status, statusStrategy := *store.Store, *s
	statusStrategy.subresource, statusStrategy.reset = "status", management.Sets("status")
	status.UpdateStrategy, status.ResetFieldsStrategy = &statusStrategy, &statusStrategy
	out.status = &statusStore{objectStore{&status}}
	out.statusScope, err = withFieldManager(scope, types, "status", statusStrategy.reset)
	return out, err
}

// destroy ends the stores' watches.
func (r *resource) destroy() {
	for _, v := range r.versions {
		if v != nil && v.store.Store != nil && v.store.DestroyFunc != nil {
			v.store.DestroyFunc()
		}
	}
}

// storages has what the stores of custom resources share: their options, and the connections to etcd.
type storages struct {
	generic.RESTOptionsGetter
	raw rawStorages
}

// withCodec sets the codec of the storage, and makes its watch cache lazy.
type withCodec struct {
	*storages
	codec storageCodec
}

func (g withCodec) GetRESTOptions(r schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	o, err := g.storages.GetRESTOptions(r, example)
	if err == nil {
		config := *o.StorageConfig
		config.Codec = g.codec
		o.StorageConfig, o.Decorator = &config, g.raw.lazily(o.Decorator)
	}
	return o, err
}

// deprecation returns the warning of a deprecated version, "" for another.
func deprecation(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) string {
	switch {
	case !v.Deprecated:
		return ""
	case v.DeprecationWarning != nil:
		return *v.DeprecationWarning
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", crd.Spec.Group, v.Name, crd.Spec.Names.Kind)
	newest := ""
	for _, other := range crd.Spec.Versions {
		if other.Served && !other.Deprecated && versions.CompareKubeAwareVersionStrings(v.Name, other.Name) < 0 &&
			(newest == "" || versions.CompareKubeAwareVersionStrings(newest, other.Name) < 0) {
			newest = other.Name
		}
	}
	if newest == "" {
		return text
	}
	return fmt.Sprintf("%s; use %s/%s %s", text, crd.Spec.Group, newest, crd.Spec.Names.Kind)
}
