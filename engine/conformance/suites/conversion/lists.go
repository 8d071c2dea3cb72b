package conversion

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/crdeval/crdeval/engine/conformance/served"
)

// lister is the API server's handler of custom resources for one CRD. It lists the objects of the current request.
type lister struct {
	handler http.Handler
	crd     *apiextensionsv1.CustomResourceDefinition
	objects [][]byte
}

// revision is the resourceVersion of all objects.
const revision = 7

func newLister(crd *apiextensionsv1.CustomResourceDefinition) (*lister, error) {
	l := &lister{crd: crd}
	var err error
	l.handler, err = served.Handler(crd, func(o served.Opened) storage.Interface { return &memory{Opened: o, of: l} }, nil)
	return l, err
}

// table returns the Table of the objects, or the Status of a rejection.
func (l *lister) table(q question) (table []byte, rejection *metav1.Status, err error) {
	l.objects = q.Objects
	path := "/apis/" + l.crd.Spec.Group + "/" + q.Version + "/" + l.crd.Spec.Names.Plural
	return served.Get(l.handler, path, url.Values{"includeObject": {q.Include}},
		"application/json;as=Table;v=v1;g=meta.k8s.io")
}

// memory is a storage.Interface that lists as storage/etcd3/store.go does.
type memory struct {
	storage.Interface // methods that no list calls
	served.Opened
	of *lister
}

// Versioner implements storage.Interface.
func (m *memory) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// ReadinessCheck implements storage.Interface.
func (m *memory) ReadinessCheck() error { return nil }

// GetList implements storage.Interface.
func (m *memory) GetList(_ context.Context, _ string, _ storage.ListOptions, list runtime.Object) error {
	var found []runtime.Object
	for _, text := range m.of.objects {
		object := m.NewObject()
		if _, _, err := m.Codec.Decode(text, nil, object); err != nil {
			return err
		}
		if err := m.Versioner().UpdateObject(object, revision); err != nil {
			return err
		}
		found = append(found, object)
	}
	if err := meta.SetList(list, found); err != nil {
		return err
	}
	return m.Versioner().UpdateList(list, revision, "", nil)
}

// sameTable compares two tables as JSON values.
func sameTable(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && string(encode(x)) == string(encode(y))
}
