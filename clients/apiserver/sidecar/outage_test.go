package sidecar_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/clients/apiserver/sidecar"
)

const (
	asJSON  = "application/json"
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
)

// requests are requests that need the sidecar, with the codes of their responses while it runs.
var requests = []struct {
	name, method, path, contentType, body string
	headers                               []string
	code                                  int
}{
	{"create", "POST", toLamps, asJSON, lamp("new", `{"color":"blue"}`), nil, 201},
	{"create from YAML", "POST", toLamps, "application/yaml", lamp("newer", `{"color":"blue"}`), nil, 201},
	{"create without storing", "POST", toLamps + "?dryRun=All", asJSON, lamp("newest", `{"color":"blue"}`), nil, 201},
	{"create an invalid object", "POST", toLamps, asJSON, lamp("wrong", `{"watts":10}`), nil, 422},
	{"create with an unknown field", "POST", toLamps + "?fieldValidation=Strict", asJSON, lamp("wrong", `{"x":1}`), nil, 400},
	{"update", "PUT", toLamps + "/a", asJSON, strings.Replace(lamp("a", `{"watts":2}`), `"name"`, `"resourceVersion":"VERSION","name"`, 1), nil, 200},
	{"merge patch", "PATCH", toLamps + "/a", "application/merge-patch+json", `{"spec":{"watts":3}}`, nil, 200},
	{"merge patch against the schema", "PATCH", toLamps + "/a", "application/merge-patch+json", `{"spec":{"watts":10}}`, nil, 422},
	{"JSON patch", "PATCH", toLamps + "/a", "application/json-patch+json", `[{"op":"replace","path":"/spec/watts","value":4}]`, nil, 200},
	{"apply", "PATCH", toLamps + "/a?fieldManager=m&force=true", "application/apply-patch+yaml", lamp("a", `{"watts":5}`), nil, 200},
	{"apply a new object", "PATCH", toLamps + "/applied?fieldManager=m", "application/apply-patch+yaml", lamp("applied", `{"watts":5}`), nil, 201},
	{"apply another version", "PATCH", "/apis/example.com/v1beta1/namespaces/default/lamps/a?fieldManager=n&force=true", "application/apply-patch+yaml",
		strings.Replace(lamp("a", `{"watts":6}`), "/v1", "/v1beta1", 1), nil, 200},
	{"patch the status", "PATCH", toLamps + "/a/status", "application/merge-patch+json", `{"status":{"watts":1}}`, nil, 200},
	{"patch the scale", "PATCH", toLamps + "/a/scale", "application/merge-patch+json", `{"spec":{"replicas":6}}`, nil, 200},
	{"delete without deleting", "DELETE", toLamps + "/a?dryRun=All", "", "", nil, 200},
	{"get", "GET", toLamps + "/a", "", "", nil, 200},
	{"get the scale", "GET", toLamps + "/a/scale", "", "", nil, 200},
	{"list as a table", "GET", toLamps, "", "", []string{"Accept", asTable}, 200},
	{"list from the storage", "GET", toLamps + "?limit=1&resourceVersion=0&resourceVersionMatch=NotOlderThan&labelSelector=", "", "", nil, 200},
}

// TestRequests: the requests of TestOutage while the sidecar runs.
func TestRequests(t *testing.T) {
	w := newWorld(t)
	version := w.create("a")
	for _, r := range requests {
		got := w.do(r.method, r.path, r.contentType, strings.Replace(r.body, "VERSION", version, 1), r.headers...)
		if got.code != r.code {
			t.Errorf("%s: HTTP %d %s, want %d", r.name, got.code, got.body, r.code)
		}
	}
}

// TestOutage: while the sidecar is down, the response to a request that needs it is 503 with Retry-After and the
// address of the sidecar.
func TestOutage(t *testing.T) {
	w := newWorld(t)
	version := w.create("a")
	for _, r := range requests { // also starts the watch caches of both versions
		w.do(r.method, r.path, r.contentType, r.body, r.headers...)
	}
	check(t, w.sidecar.Kill())
	for _, r := range requests {
		if strings.HasPrefix(r.name, "list from") {
			continue // the watch cache has the objects
		}
		got := w.do(r.method, r.path, r.contentType, strings.Replace(r.body, "VERSION", version, 1), r.headers...)
		if r.name == "list as a table" { // it needs no sidecar either
			w.expect(r.code, got)
			continue
		}
		var s metav1.Status // the body is one Status
		if err := json.Unmarshal([]byte(got.body), &s); err != nil || got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" ||
			s.Reason != metav1.StatusReasonServiceUnavailable || s.Code != http.StatusServiceUnavailable ||
			!strings.HasPrefix(s.Message, "the crdeval sidecar at "+w.sidecar.Address()+" cannot be reached: ") {
			t.Errorf("%s: HTTP %d, Retry-After %q, %s", r.name, got.code, got.header.Get("Retry-After"), got.body)
		}
	}
	if got := w.do("GET", "/apis/example.com/v1", "", ""); !strings.Contains(got.body, `"lamps/scale"`) {
		t.Errorf("discovery: %s", got.body)
	}
	w.expect(503, w.do("DELETE", toLamps+"/a", "", ""))
	check(t, w.sidecar.Start())
	w.eventually(200, func() response { return w.do("GET", toLamps+"/a", "", "") })
	w.expect(422, w.do("PATCH", toLamps+"/a", "application/merge-patch+json", `{"spec":{"watts":10}}`))
	w.expect(400, w.do("PATCH", toLamps+"/a", "application/merge-patch+json", `{`))
}

// TestDefaultOutage: server-side apply stores no object without the defaults that the sidecar could not set.
func TestDefaultOutage(t *testing.T) {
	w := newWorld(t)
	apply := func() response {
		return w.do("PATCH", toLamps+"/a?fieldManager=m", "application/apply-patch+yaml", lamp("a", `{"color":"blue"}`))
	}
	w.calls.failing(func(method string) error {
		if method == "Default" {
			return status.Error(codes.Unavailable, "gone")
		}
		return nil
	})
	w.expect(503, apply())
	w.expect(404, w.do("GET", toLamps+"/a", "", ""))
	w.calls.failing(nil)
	w.expect(201, apply())
}

// TestHang: a sidecar that does not respond is like one that is down.
func TestHang(t *testing.T) {
	w := newWorld(t)
	w.expect(201, w.do("POST", toLamps, asJSON, lamp("a", `{}`)))
	check(t, w.sidecar.Pause())
	got := w.do("PATCH", toLamps+"/a", "application/merge-patch+json", `{"spec":{"watts":3}}`)
	check(t, w.sidecar.Resume())
	if got.code != http.StatusServiceUnavailable || !strings.Contains(got.body, "no response within 2s") {
		t.Errorf("HTTP %d: %s", got.code, got.body)
	}
	w.eventually(200, func() response {
		return w.do("PATCH", toLamps+"/a", "application/merge-patch+json", `{"spec":{"watts":3}}`)
	})
}

// TestStartDuringOutage: an API server that starts without its sidecar serves CRDs and discovery, and custom resources
// as soon as the sidecar runs.
func TestStartDuringOutage(t *testing.T) {
	server, e, c := start(t, sidecar.Options{})
	check(t, server.Kill())
	w := connect(t, server, e, c)
	got := w.do("GET", toLamps, "", "")
	if got.code != http.StatusServiceUnavailable || !strings.Contains(got.body, "cannot be reached") {
		t.Errorf("HTTP %d: %s", got.code, got.body)
	}
	check(t, server.Start())
	w.eventually(200, func() response { return w.do("GET", toLamps, "", "") })
	w.expect(201, w.do("POST", toLamps, asJSON, lamp("a", `{}`)))
}

// TestEmptyRestart: after the sidecar has restarted with an empty store, the first request of many registers the CRD,
// and none of them fails.
func TestEmptyRestart(t *testing.T) {
	w := newWorld(t)
	w.expect(201, w.do("POST", toLamps, asJSON, lamp("a", `{}`)))
	for round := range 3 {
		w.restart()
		before := w.calls.of("RegisterCrd")
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() {
				name := fmt.Sprintf("lamp-%d-%d", round, i)
				if r := w.do("POST", toLamps, asJSON, lamp(name, `{"color":"blue"}`)); r.code != 201 {
					t.Errorf("HTTP %d: %s", r.code, r.body)
				}
			})
		}
		wait.Wait()
		if n := w.calls.of("RegisterCrd") - before; n != 1 {
			t.Errorf("%d registrations", n)
		}
		w.expect(422, w.do("PATCH", toLamps+"/a", "application/merge-patch+json", `{"spec":{"watts":7}}`))
	}
}

// TestDeletedCRD: the sidecar loses a CRD that is deleted, and gets it again when it is created again.
func TestDeletedCRD(t *testing.T) {
	w := newWorld(t)
	w.expect(201, w.do("POST", toLamps, asJSON, lamp("a", `{}`)))
	w.expect(200, w.do("DELETE", toCRD, "", ""))
	w.eventually(404, func() response { return w.do("GET", toCRD, "", "") })
	for range 500 {
		if len(w.registered()) == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if names := w.registered(); len(names) != 0 {
		t.Errorf("registered: %v", names)
	}
	text, err := json.Marshal(created(t))
	check(t, err)
	w.expect(201, w.do("POST", toCRDs, asJSON, string(text)))
	w.eventually(200, func() response { return w.do("GET", toLamps, "", "") })
	w.expect(201, w.do("POST", toLamps, asJSON, lamp("a", `{}`)))
	if names := w.registered(); len(names) != 1 {
		t.Errorf("registered: %v", names)
	}
}
