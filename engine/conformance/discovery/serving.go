package discovery

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// statusResetFields is linked to by its name, since upstream keeps it to itself.
//
//go:linkname statusResetFields k8s.io/apiextensions-apiserver/pkg/apiserver.getStatusResetFields
func statusResetFields(crd *apiextensionsv1.CustomResourceDefinition, storages map[string]customresource.CustomResourceStorage) map[fieldpath.APIVersion]*fieldpath.Set

// serving has upstream's handler of custom resources serve a definition, and returns what it keeps of each version.
func serving(crd *apiextensionsv1.CustomResourceDefinition) (map[string]customresource.CustomResourceStorage, error) {
	informer := externalversions.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions()
	if err := informer.Informer().GetIndexer().Add(crd); err != nil {
		return nil, err
	}
	h, err := apiserver.NewCustomResourceDefinitionHandler(nil, nil, informer, http.NotFoundHandler(), options{}, nil, nil, nil, nil, 1, nil, time.Minute, time.Minute, nil, 1)
	if err != nil {
		return nil, err
	}
	for _, v := range crd.Spec.Versions {
		ctx := request.WithRequestInfo(context.Background(), &request.RequestInfo{
			IsResourceRequest: true, APIPrefix: "apis", APIGroup: crd.Spec.Group, APIVersion: v.Name, Resource: crd.Spec.Names.Plural, Verb: "none", Namespace: namespaceOf(crd),
		})
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "NONE", "http://server/", nil))
	}
	served := (*atomic.Value)(hidden(reflect.ValueOf(h).Elem(), "customStorage")).Load()
	if served == nil {
		return nil, nil // no version is served
	}
	for _, info := range reflect.ValueOf(served).Seq2() {
		return *(*map[string]customresource.CustomResourceStorage)(hidden(info.Elem(), "storages")), nil
	}
	return nil, nil
}

func namespaceOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		return "default"
	}
	return ""
}

// mappings are the paths of replicas that a scale subresource has.
func mappings(scale *customresource.ScaleREST) managedfields.ResourcePathMappings {
	return *(*managedfields.ResourcePathMappings)(hidden(reflect.ValueOf(scale).Elem(), "replicasPathMapping"))
}

// hidden is where a field is that is not exported.
func hidden(of reflect.Value, name string) unsafe.Pointer {
	return unsafe.Pointer(of.FieldByName(name).UnsafeAddr()) //nolint:gosec // that is what it is for
}

// options gives every version a storage that nobody asks.
type options struct{}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (options) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig:  (&storagebackend.Config{Codec: unstructured.UnstructuredJSONScheme}).ForResource(resource),
		ResourcePrefix: resource.String(),
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object, storage.AttrFunc,
			storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return unasked{}, func() {}, nil
		},
	}, nil
}

type unasked struct{ storage.Interface }

// Versioner implements storage.Interface.
func (unasked) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }
