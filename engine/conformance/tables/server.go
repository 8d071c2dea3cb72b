package tables

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// server is the API server's handler of custom resources with one definition and its objects, which were never asked for before.
type server struct {
	handler http.Handler
	crd     *apiextensionsv1.CustomResourceDefinition
	objects [][]byte
}

func newServer(crd *apiextensionsv1.CustomResourceDefinition, objects [][]byte) (*server, error) {
	s := &server{crd: crd, objects: objects}
	informer := externalversions.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions()
	if err := informer.Informer().GetIndexer().Add(crd); err != nil {
		return nil, err
	}
	var err error
	s.handler, err = apiserver.NewCustomResourceDefinitionHandler(nil, nil, informer, http.NotFoundHandler(), s, nil, nil, nil, nil, 1, nil,
		time.Minute, time.Minute, nil, 3<<20)
	return s, err
}

// established makes a definition one that has been served for long.
func established(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	crd.UID = types.UID(crd.Name)
	then := metav1.NewTime(time.Unix(1700000000, 0))
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: then},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: then},
	}
	return crd
}

var routes = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// panicked is what an API server answers when a handler panics; the filter that does so is around the handler.
const panicked = "This request caused apiserver to panic. Look in the logs for details."

// list answers a list of all objects at a version as a Table: its body, or the Status of a refusal.
func (s *server) list(version, include string) (table []byte, refusal *metav1.Status, err error) {
	defer func() {
		if recover() != nil {
			table, refusal, err = nil, &metav1.Status{Code: http.StatusInternalServerError, Message: panicked}, nil
		}
	}()
	ctx := audit.WithAuditContext(context.Background())
	path := strings.Join([]string{"http://server", "apis", s.crd.Spec.Group, version, s.crd.Spec.Names.Plural}, "/")
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	q.URL.RawQuery = url.Values{"includeObject": {include}}.Encode()
	q.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
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
	return body, nil, nil
}

// GetRESTOptions implements generic.RESTOptionsGetter: each version of the definition gets a storage of its own over the same objects.
func (s *server) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig:  (&storagebackend.Config{Codec: unstructured.UnstructuredJSONScheme}).ForResource(resource),
		ResourcePrefix: "/objects",
		Decorator: func(c *storagebackend.ConfigForResource, _ string, _ func(runtime.Object) (string, error), newObject, _ func() runtime.Object, _ storage.AttrFunc,
			_ storage.IndexerFuncs, _ *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return &memory{codec: c.Codec, newObject: newObject, objects: s.objects}, func() {}, nil
		},
	}, nil
}

// memory is a storage.Interface that can list everything, as storage/etcd3/store.go does.
type memory struct {
	storage.Interface // what no list calls
	codec             runtime.Codec
	newObject         func() runtime.Object
	objects           [][]byte
}

// Versioner implements storage.Interface.
func (m *memory) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// ReadinessCheck implements storage.Interface.
func (m *memory) ReadinessCheck() error { return nil }

// revision is the resourceVersion of everything.
const revision = 17

// GetList implements storage.Interface.
func (m *memory) GetList(_ context.Context, _ string, _ storage.ListOptions, list runtime.Object) error {
	var found []runtime.Object
	for _, text := range m.objects {
		object := m.newObject()
		if _, _, err := m.codec.Decode(text, nil, object); err != nil {
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
	left := int64(3)
	return m.Versioner().UpdateList(list, revision, "next", &left)
}
