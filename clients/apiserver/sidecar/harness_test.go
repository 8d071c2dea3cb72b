package sidecar_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/clients/apiserver/apiservertest"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar/sidecartest"
	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// lamps is the CRD of these tests. Its second version stores nothing, so that reads of it convert.
const lamps = `
metadata: {name: lamps.example.com, resourceVersion: "10", uid: u}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lamps, singular: lamp, kind: Lamp, listKind: LampList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.watts, statusReplicasPath: .status.watts}}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns: [{name: Watts, type: integer, jsonPath: .spec.watts}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              watts: {type: integer, maximum: MAXIMUM, default: 1}
              color: {type: string}
            x-kubernetes-validations: [{rule: "self.watts != 7", message: "no sevens"}]
          status: {type: object, properties: {watts: {type: integer}}}
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {watts: {type: integer}, color: {type: string, default: red}}}}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
status:
  acceptedNames: {plural: lamps, singular: lamp, kind: Lamp, listKind: LampList}
`

// definition returns the CRD with a maximum of watts.
func definition(t *testing.T, maximum int) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	check(t, yaml.UnmarshalStrict([]byte(strings.ReplaceAll(lamps, "MAXIMUM", fmt.Sprint(maximum))), crd))
	return crd
}

// created returns the CRD as a client creates it.
func created(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := definition(t, 9)
	crd.ResourceVersion, crd.UID, crd.Status = "", "", apiextensionsv1.CustomResourceDefinitionStatus{}
	return crd
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// calls counts the calls of a client by their methods.
type calls struct {
	mu    sync.Mutex
	count map[string]int
	fail  func(method string) error // instead of the call, if it returns an error
}

func (c *calls) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	c.mu.Lock()
	if c.count == nil {
		c.count = map[string]int{}
	}
	c.count[path.Base(method)]++
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		if err := fail(path.Base(method)); err != nil {
			return err
		}
	}
	return invoke(ctx, method, req, reply, conn, opts...)
}

func (c *calls) of(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count[method]
}

// failing sets what replaces calls, nil for nothing.
func (c *calls) failing(f func(method string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = f
}

// start starts a server, and returns it with an Evaluator and its calls. The timeout of calls is short.
func start(t *testing.T, o sidecar.Options) (*sidecartest.Server, *sidecar.Evaluator, *calls) {
	t.Helper()
	server, err := sidecartest.New()
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	check(t, server.Start())
	c := &calls{}
	o.Client = append(o.Client, crdeval.WithDialOptions(grpc.WithUnaryInterceptor(c.intercept)), crdeval.WithRetries(crdeval.RetryOptions{MaxAttempts: 1}))
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	e, err := sidecar.Dial(server.Address(), o)
	check(t, err)
	t.Cleanup(func() { check(t, e.Close()) })
	return server, e, c
}

// world is an API server with a sidecar.
type world struct {
	*testing.T
	sidecar   *sidecartest.Server
	evaluator *sidecar.Evaluator
	calls     *calls
	config    *rest.Config
	client    *http.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server, e, c := start(t, sidecar.Options{})
	return connect(t, server, e, c)
}

// connect starts an API server for a sidecar that may be down.
func connect(t *testing.T, server *sidecartest.Server, e *sidecar.Evaluator, c *calls) *world {
	t.Helper()
	config := apiservertest.StartWith(t, apiservertest.Options{Evaluator: e}, created(t))
	client, err := rest.HTTPClientFor(config)
	check(t, err)
	return &world{t, server, e, c, config, client}
}

// restart restarts the sidecar with an empty store, and waits until the Evaluator is connected.
func (w *world) restart() {
	w.Helper()
	check(w, w.sidecar.Kill())
	check(w, w.sidecar.Start())
	w.awaitConnection()
}

// awaitConnection waits until the Evaluator is connected.
func (w *world) awaitConnection() {
	w.Helper()
	other := &apiextensionsv1.CustomResourceDefinition{}
	other.Name = "others.example.com"
	var err error
	for range 500 {
		if err = w.evaluator.Remove(w.Context(), other); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.Fatal(err)
}

// registered returns the names of the CRDs that the sidecar has.
func (w *world) registered() (names []string) {
	w.Helper()
	c, err := crdeval.Dial(w.sidecar.Address())
	check(w, err)
	defer func() { _ = c.Close() }()
	list, err := c.Registry().ListCrds(w.Context(), &crdevalv1.ListCrdsRequest{Catalog: "default"})
	check(w, err)
	for _, crd := range list.GetCrds() {
		names = append(names, crd.GetName())
	}
	return names
}

// response is the response to a request. client-go would retry the requests.
type response struct {
	code   int
	header http.Header
	body   string
}

const (
	toLamps = "/apis/example.com/v1/namespaces/default/lamps"
	toCRDs  = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	toCRD   = toCRDs + "/lamps.example.com"
)

// do sends a request. contentType is "" for a request without a body.
func (w *world) do(method, path, contentType, body string, headers ...string) response {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.config.Host+path, strings.NewReader(body))
	check(w, err)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := w.client.Do(r)
	check(w, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	check(w, err)
	return response{answer.StatusCode, answer.Header, string(text)}
}

func (w *world) expect(code int, r response) {
	w.Helper()
	if r.code != code {
		w.Fatalf("HTTP %d, want %d: %s", r.code, code, r.body)
	}
}

// create creates a lamp, and returns its resourceVersion.
func (w *world) create(name string) string {
	w.Helper()
	r := w.do("POST", toLamps, "application/json", lamp(name, `{}`))
	w.expect(201, r)
	u := &unstructured.Unstructured{}
	check(w, u.UnmarshalJSON([]byte(r.body)))
	return u.GetResourceVersion()
}

func lamp(name, spec string) string {
	return `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

// eventually repeats a request until its response has the code.
func (w *world) eventually(code int, request func() response) {
	w.Helper()
	var r response
	for range 500 {
		if r = request(); r.code == code {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.Fatalf("HTTP %d, want %d: %s", r.code, code, r.body)
}
