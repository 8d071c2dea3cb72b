package selectors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// stored is an object in storage.
type stored struct {
	Namespace, Name string
	Body            []byte
}

// server is the API server's handler of custom resources with one definition and its objects.
type server struct {
	handler http.Handler
	crd     *apiextensionsv1.CustomResourceDefinition
	objects []stored

	mu     sync.Mutex
	stores map[string]*memory // by version
}

// newServer serves a definition, which is established and whose names are accepted.
func newServer(crd *apiextensionsv1.CustomResourceDefinition, objects []stored) (*server, error) {
	s := &server{crd: crd, objects: objects, stores: map[string]*memory{}}
	informer := externalversions.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions()
	if err := informer.Informer().GetIndexer().Add(crd); err != nil {
		return nil, err
	}
	var err error
	s.handler, err = apiserver.NewCustomResourceDefinitionHandler(nil, nil, informer, http.NotFoundHandler(), s, nil, nil, nil, nil, 1, nil,
		time.Minute, time.Minute, nil, 3<<20)
	return s, err
}

// routes finds out what a URL means, as an API server does: a selector for one name makes of a list one of that name.
var routes = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// list answers a list at a version, in a namespace or, with "", in all: the names of what is selected, or the Status of the refusal.
func (s *server) list(version, namespace, selector string) (names []string, refusal *metav1.Status, err error) {
	parts := []string{"", "apis", s.crd.Spec.Group, version}
	if namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	ctx := audit.WithAuditContext(context.Background())
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://server"+strings.Join(append(parts, s.crd.Spec.Names.Plural), "/"), nil)
	q.URL.RawQuery = url.Values{"fieldSelector": {selector}}.Encode()
	q.Header.Set("Accept", "application/json")
	info, err := routes.NewRequestInfo(q)
	if err != nil {
		return nil, nil, err
	}
	response := httptest.NewRecorder()
	s.handler.ServeHTTP(response, q.WithContext(request.WithRequestInfo(ctx, info)))
	body := bytes.TrimSpace(response.Body.Bytes())
	if response.Code != http.StatusOK {
		refusal = &metav1.Status{}
		if err := json.Unmarshal(body, refusal); err != nil {
			return nil, nil, fmt.Errorf("upstream answers %d with %q", response.Code, body)
		}
		return nil, refusal, nil
	}
	var found struct {
		Items []struct{ Metadata metav1.ObjectMeta }
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return nil, nil, err
	}
	for _, item := range found.Items {
		names = append(names, item.Metadata.Namespace+"/"+item.Metadata.Name)
	}
	return names, nil, nil
}

// fields are what selectors see of an object that is read at a version. A list must have been asked for there before.
func (s *server) fields(version string, o stored) (fields.Set, error) {
	m := s.stores[version]
	if m == nil {
		return nil, fmt.Errorf("no storage of %s", version)
	}
	object, err := m.read(o)
	if err != nil {
		return nil, fmt.Errorf("unreadable: %w", err)
	}
	_, set, err := m.attributes(object)
	return set, err
}

// GetRESTOptions implements generic.RESTOptionsGetter: each version of the definition gets a storage of its own over the same objects.
func (s *server) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig:  (&storagebackend.Config{Codec: unstructured.UnstructuredJSONScheme}).ForResource(resource),
		ResourcePrefix: prefix,
		Decorator: func(c *storagebackend.ConfigForResource, _ string, _ func(runtime.Object) (string, error), newObject, _ func() runtime.Object, attributes storage.AttrFunc,
			_ storage.IndexerFuncs, _ *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			m := &memory{codec: c.Codec, newObject: newObject, attributes: attributes, objects: s.objects}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.stores[newObject().GetObjectKind().GroupVersionKind().Version] = m
			return m, func() {}, nil
		},
	}, nil
}

// prefix is where the objects are in storage.
const prefix = "/objects"

// memory is a storage.Interface that can list, as storage/etcd3/store.go does.
type memory struct {
	storage.Interface // what no list calls
	codec             runtime.Codec
	newObject         func() runtime.Object
	attributes        storage.AttrFunc
	objects           []stored
}

// Versioner implements storage.Interface.
func (m *memory) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// ReadinessCheck implements storage.Interface.
func (m *memory) ReadinessCheck() error { return nil }

func (m *memory) read(o stored) (runtime.Object, error) {
	into := m.newObject()
	if _, _, err := m.codec.Decode(o.Body, nil, into); err != nil {
		return nil, err
	}
	return into, m.Versioner().UpdateObject(into, 1)
}

func (o stored) key() string {
	if o.Namespace == "" {
		return prefix + "/" + o.Name
	}
	return prefix + "/" + o.Namespace + "/" + o.Name
}

// GetList implements storage.Interface.
func (m *memory) GetList(_ context.Context, key string, o storage.ListOptions, list runtime.Object) error {
	var found []runtime.Object
	for _, one := range m.objects {
		if at := one.key(); at != key && (!o.Recursive || !strings.HasPrefix(at, strings.TrimSuffix(key, "/")+"/")) {
			continue
		}
		object, err := m.read(one)
		if err != nil {
			return err
		}
		// Of an object whose attributes cannot be told, etcd3 says nothing.
		if matches, err := o.Predicate.Matches(object); err == nil && matches {
			found = append(found, object)
		}
	}
	if err := meta.SetList(list, found); err != nil {
		return err
	}
	return m.Versioner().UpdateList(list, 1, "", nil)
}
