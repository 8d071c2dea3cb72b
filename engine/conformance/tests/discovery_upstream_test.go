package tests

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	crdinformer "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/tools/cache"
)

// published contains what upstream's discovery controller publishes: handlers of the paths below /apis, and of the
// aggregated document.
type published struct {
	groups, versions, aggregated http.Handler
}

// serveDocuments runs the controller until it has processed all CRDs.
func serveDocuments(crds []*apiextensionsv1.CustomResourceDefinition) (*published, error) {
	informer := externalversions.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions()
	for _, crd := range crds {
		if err := informer.Informer().GetIndexer().Add(crd); err != nil {
			return nil, err
		}
	}
	manager := aggregated.NewResourceManager("apis")
	// The types of the handlers are unexported. They are created as upstream's own server does: an empty map, and a
	// handler for everything else.
	create := reflect.ValueOf(apiserver.NewDiscoveryController)
	versions, groups := handler(create.Type().In(1).Elem()), handler(create.Type().In(2).Elem())
	made := create.Call([]reflect.Value{reflect.ValueOf(synced{informer}), versions, groups, reflect.ValueOf(manager)})
	controller, ok := made[0].Interface().(*apiserver.DiscoveryController)
	if !ok {
		return nil, fmt.Errorf("upstream's controller is a %s", made[0].Type())
	}
	stop, done, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		controller.Run(stop, done)
		close(ended)
	}()
	<-done
	close(stop)
	<-ended
	return &published{groups.Interface().(http.Handler), versions.Interface().(http.Handler), manager}, nil
}

// handler creates a handler of an unexported type of upstream.
func handler(t reflect.Type) reflect.Value {
	h := reflect.New(t)
	set := func(name string, v reflect.Value) {
		f := h.Elem().FieldByName(name)
		reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(v) //nolint:gosec // the field is not exported
	}
	set("discovery", reflect.MakeMap(h.Elem().FieldByName("discovery").Type()))
	set("delegate", reflect.ValueOf(http.NotFoundHandler()))
	return h
}

// synced is an informer that always reports that it is synchronized.
type synced struct {
	crdinformer.CustomResourceDefinitionInformer
}

// Informer implements crdinformer.CustomResourceDefinitionInformer.
func (s synced) Informer() cache.SharedIndexInformer {
	return fed{s.CustomResourceDefinitionInformer.Informer()}
}

type fed struct{ cache.SharedIndexInformer }

// HasSynced implements cache.SharedIndexInformer.
func (fed) HasSynced() bool { return true }

// get sends a request to a handler. It returns nil if there is nothing.
func get(h http.Handler, path, accept string) (body []byte, etag string) {
	q := httptest.NewRequest(http.MethodGet, "http://server"+path, nil)
	q.Header.Set("Accept", accept)
	response := httptest.NewRecorder()
	h.ServeHTTP(response, q)
	if response.Code != http.StatusOK {
		return nil, ""
	}
	return response.Body.Bytes(), response.Header().Get("ETag")
}
