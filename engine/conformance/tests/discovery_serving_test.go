package tests

import (
	"context"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/engine/conformance/served"
)

// statusResetFields is linked to by its name, since upstream keeps it to itself.
//
//go:linkname statusResetFields k8s.io/apiextensions-apiserver/pkg/apiserver.getStatusResetFields
func statusResetFields(crd *apiextensionsv1.CustomResourceDefinition, storages map[string]customresource.CustomResourceStorage) map[fieldpath.APIVersion]*fieldpath.Set

// serving serves a CRD with upstream's handler of custom resources, and returns what it prepares for each version.
func serving(crd *apiextensionsv1.CustomResourceDefinition) (map[string]customresource.CustomResourceStorage, error) {
	h, err := served.Handler(crd, func(served.Opened) storage.Interface { return unasked{} }, nil)
	if err != nil {
		return nil, err
	}
	for _, v := range crd.Spec.Versions {
		ctx := request.WithRequestInfo(context.Background(), &request.RequestInfo{
			IsResourceRequest: true, APIPrefix: "apis", APIGroup: crd.Spec.Group, APIVersion: v.Name, Resource: crd.Spec.Names.Plural, Verb: "none", Namespace: namespaceOf(crd),
		})
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "NONE", "http://server/", nil))
	}
	prepared := (*atomic.Value)(hidden(reflect.ValueOf(h).Elem(), "customStorage")).Load()
	if prepared == nil {
		return nil, nil // no version is served
	}
	for _, info := range reflect.ValueOf(prepared).Seq2() {
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

// mappings are the replicas paths of a scale subresource.
func mappings(scale *customresource.ScaleREST) managedfields.ResourcePathMappings {
	return *(*managedfields.ResourcePathMappings)(hidden(reflect.ValueOf(scale).Elem(), "replicasPathMapping"))
}

// hidden returns the address of an unexported field.
func hidden(of reflect.Value, name string) unsafe.Pointer {
	return unsafe.Pointer(of.FieldByName(name).UnsafeAddr()) //nolint:gosec // that is what it is for
}

// unasked is a storage that must not be called.
type unasked struct{ storage.Interface }

// Versioner implements storage.Interface.
func (unasked) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }
