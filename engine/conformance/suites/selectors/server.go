package selectors

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"

	"github.com/crdeval/crdeval/engine/conformance/served"
)

// stored is a stored object.
type stored struct {
	Namespace, Name string
	Body            []byte
}

// server is the API server's handler of custom resources with one CRD and its objects.
type server struct {
	handler  http.Handler
	resource schema.GroupResource
	objects  []stored

	mu     sync.Mutex
	stores map[string]*memory // by version
}

// newServer serves a CRD.
func newServer(crd *apiextensionsv1.CustomResourceDefinition, objects []stored) (*server, error) {
	s := &server{resource: schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}, objects: objects, stores: map[string]*memory{}}
	var err error
	s.handler, err = served.Handler(crd, s.open, nil)
	return s, err
}

// open opens a storage per version. All of them contain the same objects.
func (s *server) open(o served.Opened) storage.Interface {
	m := &memory{Opened: o, prefix: served.Prefix(s.resource), objects: s.objects}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stores[o.NewObject().GetObjectKind().GroupVersionKind().Version] = m
	return m
}

// list lists a version in a namespace, or in all if it is "". It returns the selected names, or the Status of the
// rejection.
func (s *server) list(version, namespace, selector string) (names []string, rejection *metav1.Status, err error) {
	parts := []string{"", "apis", s.resource.Group, version}
	if namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	body, rejection, err := served.Get(s.handler, strings.Join(append(parts, s.resource.Resource), "/"), url.Values{"fieldSelector": {selector}}, "application/json")
	if rejection != nil || err != nil {
		return nil, rejection, err
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

// fields returns the fields of an object for selectors at a version. The version must have been listed before.
func (s *server) fields(version string, o stored) (fields.Set, error) {
	m := s.stores[version]
	if m == nil {
		return nil, fmt.Errorf("no storage of %s", version)
	}
	object, err := m.read(o)
	if err != nil {
		return nil, fmt.Errorf("unreadable: %w", err)
	}
	_, set, err := m.Attributes(object)
	return set, err
}

// memory is a storage.Interface that lists objects as storage/etcd3/store.go does.
type memory struct {
	storage.Interface // methods that no list calls
	served.Opened
	prefix  string
	objects []stored
}

// Versioner implements storage.Interface.
func (m *memory) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// ReadinessCheck implements storage.Interface.
func (m *memory) ReadinessCheck() error { return nil }

func (m *memory) read(o stored) (runtime.Object, error) {
	into := m.NewObject()
	if _, _, err := m.Codec.Decode(o.Body, nil, into); err != nil {
		return nil, err
	}
	return into, m.Versioner().UpdateObject(into, 1)
}

// key is the storage key of an object.
func (m *memory) key(o stored) string {
	if o.Namespace == "" {
		return m.prefix + "/" + o.Name
	}
	return m.prefix + "/" + o.Namespace + "/" + o.Name
}

// GetList implements storage.Interface.
func (m *memory) GetList(_ context.Context, key string, o storage.ListOptions, list runtime.Object) error {
	var found []runtime.Object
	for _, one := range m.objects {
		if at := m.key(one); at != key && (!o.Recursive || !strings.HasPrefix(at, strings.TrimSuffix(key, "/")+"/")) {
			continue
		}
		object, err := m.read(one)
		if err != nil {
			return err
		}
		// The storage of etcd3 skips objects whose attributes cannot be computed.
		if matches, err := o.Predicate.Matches(object); err == nil && matches {
			found = append(found, object)
		}
	}
	if err := meta.SetList(list, found); err != nil {
		return err
	}
	return m.Versioner().UpdateList(list, 1, "", nil)
}
