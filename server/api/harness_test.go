package api_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/server/gateway/codec"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/gateway"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/transport"
	"github.com/crdeval/crdeval/server/transport/inprocess"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the longest wait of a test. Only a server that hangs exceeds it.
const patience = 5 * time.Minute

// maxMessage is the limit of messages in these tests: above that of documents, low enough to exceed.
const maxMessage = 8 << 20

// wire is a server with both of its faces.
type wire struct {
	transport.Entry
	t          testing.TB
	url        string
	http       *http.Client
	health     *health.Server
	registry   crdevalv1.RegistryServiceClient
	evaluation crdevalv1.EvaluationServiceClient
	shows      crdevalv1.PresentationServiceClient
	apiServers crdevalv1.ApiServerServiceClient
	server     crdevalv1.ServerServiceClient
	conn       *grpc.ClientConn // of the clients above
	ledger     *call.Memory     // of REST requests, which have the same caller; nil: unlimited
}

// start runs the handlers over a registry in memory; wrap, if any, stands between the two.
func start(t testing.TB, wrap func(api.Registry) api.Registry) *wire {
	t.Helper()
	return startWith(t, wrap, nil)
}

// startWith is start with other options.
func startWith(t testing.TB, wrap func(api.Registry) api.Registry, configure func(*api.Options)) *wire {
	t.Helper()
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 64 << 20, Weigh: (*engine.Definition).Size})
	store := registry.NewMemoryStore()
	inMemory, err := registry.New(ctx, store, registry.Options{Programs: programs, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	var r api.Registry = inMemory
	if wrap != nil {
		r = wrap(inMemory)
	}
	options := api.Options{Registry: r, Limits: api.Limits{MaxMessageBytes: maxMessage}, Version: "v0.0.0-test", Log: log}
	if configure != nil {
		configure(&options)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.ForceServerCodecV2(api.Codec(options.Limits)), grpc.StreamInterceptor(api.DecodeStream))
	inner := transport.NewInProcess(transport.ServerOptions{MaxMessageBytes: maxMessage, Log: log})
	services := inprocess.Registrar{api.Decoding{ServiceRegistrar: server}, inner}
	api.Register(services, options)
	state := health.NewServer()
	healthv1.RegisterHealthServer(services, state)
	listener := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{}
	handler, err := gateway.New(ctx, inner, gateway.Options{
		MaxBodyBytes: maxMessage, Entry: w, Lists: options.Limits.Lists(),
	})
	if err != nil {
		t.Fatal(err)
	}
	rest := httptest.NewServer(handler)
	t.Cleanup(func() {
		rest.Close()
		_ = conn.Close()
		server.Stop()
		inner.Stop()
		<-served
		_ = programs.Close(ctx)
		_ = store.Close()
	})
	*w = wire{
		Entry: transport.NewEntry(transport.ServerOptions{Log: log}),
		t:     t, url: rest.URL, http: rest.Client(), health: state,
		registry: crdevalv1.NewRegistryServiceClient(conn), evaluation: crdevalv1.NewEvaluationServiceClient(conn),
		shows: crdevalv1.NewPresentationServiceClient(conn), apiServers: crdevalv1.NewApiServerServiceClient(conn), server: crdevalv1.NewServerServiceClient(conn),
		conn: conn,
	}
	return w
}

// AdmitRequest implements transport.Entry.
func (w *wire) AdmitRequest(r *http.Request) error {
	call.Of(r.Context()).Lease = w.ledger.Open("caller")
	return nil
}

// answer is what came back over HTTP.
type answer struct {
	code   int
	header http.Header
	text   string
}

// do sends a request over REST. Headers come in pairs.
func (w *wire) do(method, path, body string, headers ...string) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.http.Do(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// into reads the answer, which must be a success, into m.
func (a answer) into(t testing.TB, m any) {
	t.Helper()
	if a.code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", a.code, a.text)
	}
	if err := codec.Unmarshal([]byte(a.text), m, nil); err != nil {
		t.Fatalf("%v\n%s", err, a.text)
	}
}

// status reads the answer as the google.rpc.Status that every error is.
func (a answer) status(t testing.TB) *status.Status {
	t.Helper()
	var st statusv1.Status
	if err := protojson.Unmarshal([]byte(a.text), &st); err != nil {
		t.Fatalf("HTTP %d is no google.rpc.Status: %v\n%s", a.code, err, a.text)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	return status.FromProto(&st)
}

// reason is that of the ErrorInfo that every error has.
func reason(t testing.TB, st *status.Status) string {
	t.Helper()
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			if info.GetDomain() != "crdeval.dev" {
				t.Errorf("domain %q", info.GetDomain())
			}
			if _, known := crdevalv1.ErrorReason_value["ERROR_REASON_"+info.GetReason()]; !known {
				t.Errorf("the reason %q is not documented", info.GetReason())
			}
			return info.GetReason()
		}
	}
	t.Errorf("%v has no ErrorInfo", st)
	return ""
}

const crontabManifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              cronSpec: {type: string}
              image: {type: string, default: busybox, pattern: '^[a-z-]+$'}
              replicas: {type: integer, minimum: 1, maximum: 9007199254740992}
              weight: {type: number}
              extra: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// withCronTab registers the CRD of these tests.
func (w *wire) withCronTab() *wire {
	w.t.Helper()
	got, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{
		Catalog: "default", Manifest: &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: crontabManifest}},
	})
	if err != nil || !got.GetAccepted() {
		w.t.Fatalf("the CronTab was not accepted: %v %v", got, err)
	}
	return w
}

// cronTab is an object with that spec.
func cronTab(spec string) string {
	return `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default"},"spec":` + spec + `}`
}

// creation returns the creation of an object in JSON.
func creation(object string) *crdevalv1.WriteItem {
	return &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(object)}}}
}

// objectsOf returns the objects of creations as items of the calls that transform objects.
func objectsOf(creations ...*crdevalv1.WriteItem) (list []*crdevalv1.ObjectItem) {
	for _, m := range creations {
		list = append(list, &crdevalv1.ObjectItem{
			Crd: m.GetCrd(), Version: m.GetVersion(), Revision: m.GetRevision(), Object: m.GetCreate().GetObject(),
		})
	}
	return list
}

// patch returns the patch of an object in JSON.
func patch(old, merge string) *crdevalv1.WriteItem {
	return &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{
		Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, Patch: jsonDocument(merge), OldObject: jsonDocument(old),
	}}}
}

// update returns the update of an object in JSON.
func update(object, old, subresource string) *crdevalv1.WriteItem {
	return &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{
		Object: jsonDocument(object), OldObject: jsonDocument(old), Subresource: subresource,
	}}}
}

func jsonDocument(text string) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: []byte(text)}}
}

func yamlDocument(text string) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: text}}
}
