package tables

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/crdeval/crdeval/engine/conformance/served"
)

// server is the API server's handler of custom resources with one CRD and its objects. It has not answered a request
// yet.
type server struct {
	handler http.Handler
	crd     *apiextensionsv1.CustomResourceDefinition
}

// newServer serves a CRD. Each version gets a storage; all of them contain the same objects.
func newServer(crd *apiextensionsv1.CustomResourceDefinition, objects [][]byte) (*server, error) {
	handler, err := served.Handler(crd, func(o served.Opened) storage.Interface { return &memory{Opened: o, objects: objects} }, nil)
	return &server{handler: handler, crd: crd}, err
}

// question is a request for a Table: of all objects at a version, or of one.
type question struct{ version, name, include string }

// ask sends a request. It returns the Table, or the Status of a rejection.
func (s *server) ask(q question) (table []byte, rejection *metav1.Status, err error) {
	at := "/apis/" + s.crd.Spec.Group + "/" + q.version
	if q.name != "" && s.crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		at += "/namespaces/any"
	}
	at = path.Join(at, s.crd.Spec.Names.Plural, q.name)
	return served.Get(s.handler, at, url.Values{"includeObject": {q.include}}, "application/json;as=Table;v=v1;g=meta.k8s.io")
}

// memory is a storage.Interface that lists as storage/etcd3/store.go does. A GET returns the object with the name in
// any namespace.
type memory struct {
	storage.Interface // methods that no GET calls
	served.Opened
	objects [][]byte
}

// Versioner implements storage.Interface.
func (m *memory) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// ReadinessCheck implements storage.Interface.
func (m *memory) ReadinessCheck() error { return nil }

// revision is the resourceVersion of all objects.
const revision = 17

func (m *memory) read(text []byte, into runtime.Object) error {
	if _, _, err := m.Codec.Decode(text, nil, into); err != nil {
		return err
	}
	return m.Versioner().UpdateObject(into, revision)
}

// Get implements storage.Interface.
func (m *memory) Get(_ context.Context, key string, _ storage.GetOptions, into runtime.Object) error {
	for _, text := range m.objects {
		if nameOf(text) == path.Base(key) {
			return m.read(text, into)
		}
	}
	return storage.NewKeyNotFoundError(key, 0)
}

// GetList implements storage.Interface.
func (m *memory) GetList(_ context.Context, _ string, _ storage.ListOptions, list runtime.Object) error {
	var found []runtime.Object
	for _, text := range m.objects {
		object := m.NewObject()
		if err := m.read(text, object); err != nil {
			return err
		}
		found = append(found, object)
	}
	if err := meta.SetList(list, found); err != nil {
		return err
	}
	left := int64(3)
	return m.Versioner().UpdateList(list, revision, "next", &left)
}

// nameOf returns the name of an object.
func nameOf(object []byte) string {
	var o struct{ Metadata struct{ Name string } }
	if json.Unmarshal(object, &o) != nil {
		return ""
	}
	return o.Metadata.Name
}
