package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/gateway"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/transport"
	"github.com/crdeval/crdeval/server/transport/inprocess"
	"github.com/crdeval/crdeval/server/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is crdeval with the sample CronTab in its catalog default.
type server struct {
	url      string
	reviewed chan string              // the arguments of Reviewed, which may come after the answer
	observed chan webhook.Observation // before the answer
}

// admitEntry is an Entry with another AdmitRequest.
type admitEntry struct {
	transport.Entry
	admit func(*http.Request) error
}

// AdmitRequest implements transport.Entry.
func (e admitEntry) AdmitRequest(r *http.Request) error { return e.admit(r) }

// entryWith returns an Entry that calls admit for each request.
func entryWith(admit func(*http.Request) error) transport.Entry {
	return admitEntry{transport.NewEntry(transport.ServerOptions{Log: slog.New(slog.DiscardHandler)}), admit}
}

// reported waits for the next call of Reviewed.
func (s *server) reported(t *testing.T) string {
	t.Helper()
	select {
	case got := <-s.reviewed:
		return got
	case <-time.After(5 * time.Minute):
		t.Error("Reviewed was not called")
		return ""
	}
}

func serve(t *testing.T, configure func(*gateway.Options)) *server {
	t.Helper()
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 64 << 20, Weigh: (*engine.Definition).Size})
	store := registry.NewMemoryStore()
	crds, err := registry.New(ctx, store, registry.Options{Programs: programs, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	conn := inprocess.New(inprocess.Options{})
	s := &server{reviewed: make(chan string, 100), observed: make(chan webhook.Observation, 1)}
	services := api.Options{
		Registry: crds, Log: log,
		Converted: func(_ context.Context, o webhook.Observation) {
			select {
			case s.observed <- o:
			default: // of a test that does not ask
			}
		},
	}
	api.Register(conn, services)
	options := gateway.Options{Convert: api.ConversionWebhook(services), Reviewed: func(name, outcome string) {
		select {
		case s.reviewed <- name + " " + outcome:
		default: // of a test that does not ask
		}
	}}
	if configure != nil {
		configure(&options)
	}
	handler, err := gateway.New(ctx, conn, options)
	if err != nil {
		t.Fatal(err)
	}
	rest := httptest.NewServer(handler)
	s.url = rest.URL
	t.Cleanup(func() {
		rest.Close()
		conn.Stop()
		_ = programs.Close(ctx)
		_ = store.Close()
	})
	manifest, err := os.ReadFile("testdata/crontab-crd.json")
	if err != nil {
		t.Fatal(err)
	}
	client := crdevalv1.NewRegistryServiceClient(conn)
	for _, manifest := range []string{string(manifest), tasks} {
		registered, err := client.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: api.JSON([]byte(manifest))})
		if err != nil || !registered.GetAccepted() {
			t.Fatalf("%v, %v", err, registered)
		}
	}
	set, err := client.SetConversion(ctx, &crdevalv1.SetConversionRequest{
		Catalog: "default", Crd: "tasks.example.com", Rules: &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: taskRules}},
	})
	if err != nil || !set.GetAccepted() {
		t.Fatalf("%v, %v", err, set)
	}
	return s
}

// post sends a body to a webhook.
func (s *server) post(t *testing.T, path, body string, headers ...string) (code int, header http.Header, text []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if text, err = io.ReadAll(answer.Body); err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return answer.StatusCode, answer.Header, text
}

// review is one of a CronTab; more are further members of its request.
func review(operation, object, more string) string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",
		"kind":{"group":"stable.example.com","version":"v1","kind":"CronTab"},"resource":{"group":"stable.example.com","version":"v1","resource":"crontabs"},
		"requestKind":{"group":"stable.example.com","version":"v1","kind":"CronTab"},"requestResource":{"group":"stable.example.com","version":"v1","resource":"crontabs"},
		"name":"c","namespace":"default","operation":%q,"userInfo":{"username":"admin","groups":["system:authenticated"]},"object":%s,"dryRun":false%s}}`, operation, object, more)
}

const (
	metadata = `"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"c","namespace":"default","resourceVersion":"7"}`
	fresh    = `"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"c","namespace":"default"}`
)

// TestReviews: what is answered to reviews, as an API server takes it.
func TestReviews(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct {
		name, webhook, review string
		outcome               string
		patched               string // the object with the patch
		code                  int32
		message               string // a part of the status's
		causes                []metav1.StatusCause
		warnings              []string
	}{
		{name: "nothing to change", webhook: "mutate", review: review("CREATE", `{`+fresh+`,"spec":{"replicas":2}}`, ``), outcome: "allowed"},
		{
			name: "pruned, nulled, defaulted", webhook: "mutate", review: review("CREATE", `{`+fresh+`,"spec":{"image":null,"unknown":{"a":1},"jobs":[{"x":1,"n":"a"}]},"extra":1}`, ``), outcome: "patched",
			patched:  `{` + fresh + `,"spec":{"replicas":1,"jobs":[{"n":"a"}]}}`,
			warnings: []string{`unknown field "extra"`, `unknown field "spec.jobs[0].x"`, `unknown field "spec.unknown"`},
		},
		{
			name: "ignored", webhook: "mutate", review: review("CREATE", `{`+fresh+`,"spec":{"unknown":1}}`, `,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldValidation":"Ignore"}`),
			outcome: "patched", patched: `{` + fresh + `,"spec":{"replicas":1}}`,
		},
		{
			name: "strict", webhook: "mutate", review: review("CREATE", `{`+fresh+`,"spec":{"unknown":1}}`, `,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldValidation":"Strict"}`),
			outcome: "denied", code: 400, message: `strict decoding error: unknown field "spec.unknown"`,
		},
		{
			name: "strict and invalid", webhook: "mutate", review: review("CREATE", `{`+fresh+`,"spec":{"replicas":11}}`, `,"options":{"fieldValidation":"Strict"}`), outcome: "allowed",
		},
		{
			name: "an update", webhook: "mutate", review: review("UPDATE", `{`+metadata+`,"spec":{}}`, `,"oldObject":{`+metadata+`,"spec":{}}`), outcome: "patched", patched: `{` + metadata + `,"spec":{"replicas":1}}`,
		},
		{
			name: "a status", webhook: "mutate", review: review("UPDATE", `{`+metadata+`,"spec":{"replicas":1},"status":{"x":1,"active":2}}`, `,"subResource":"status","requestSubResource":"status","oldObject":{`+metadata+`}`), outcome: "patched",
			patched: `{` + metadata + `,"spec":{"replicas":1},"status":{"active":2}}`, warnings: []string{`unknown field "status.x"`},
		},
		{name: "a scale", webhook: "mutate", review: review("UPDATE", `{"apiVersion":"autoscaling/v1","kind":"Scale"}`, `,"subResource":"scale","oldObject":{}`), outcome: "skipped"},
		{name: "a deletion", webhook: "mutate", review: review("DELETE", `null`, `,"oldObject":{"not":"seen"}`), outcome: "skipped"},

		{name: "valid", webhook: "validate", review: review("CREATE", `{`+fresh+`,"spec":{"replicas":2}}`, ``), outcome: "allowed"},
		{
			name: "invalid", webhook: "validate", review: review("CREATE", `{`+fresh+`,"spec":{"replicas":11,"image":1}}`, ``), outcome: "denied", code: 422,
			message: `CronTab.stable.example.com "c" is invalid: [`,
			causes: []metav1.StatusCause{
				{Type: "FieldValueInvalid", Message: `Invalid value: 11: spec.replicas in body should be less than or equal to 10`, Field: "spec.replicas"},
				{Type: "FieldValueTypeInvalid", Message: `Invalid value: "integer": spec.image in body must be of type string: "integer"`, Field: "spec.image"},
			},
		},
		{name: "a connection", webhook: "validate", review: review("CONNECT", `{}`, ``), outcome: "skipped"},

		{
			name: "no CRD", webhook: "validate", review: strings.ReplaceAll(review("CREATE", `{}`, ``), `"crontabs"`, `"crons"`), outcome: "denied", code: 403,
			message: `crons of stable.example.com/v1 cannot be evaluated: `,
		},
		{
			name: "the core group", webhook: "validate", review: strings.ReplaceAll(review("CREATE", `{}`, ``), `"group":"stable.example.com"`, `"group":""`), outcome: "denied", code: 403,
			message: `crontabs of v1 cannot be evaluated: they belong to the core group, which no CRD can have; remove the resource from the rules of the webhook`,
		},
		{
			name: "no CRD to mutate by", webhook: "mutate", review: strings.ReplaceAll(review("CREATE", `{}`, ``), `"crontabs"`, `"crons"`), outcome: "denied", code: 403,
			message: `; register the CRD in the catalog default of crdeval, or remove the resource from the rules of the webhook`,
		},
		{
			name: "no such version", webhook: "validate", review: strings.ReplaceAll(review("CREATE", `{`+fresh+`}`, ``), `"v1"`, `"v7"`), outcome: "denied", code: 403, message: `crontabs of stable.example.com/v7 cannot be evaluated: `,
		},
	} {
		t.Run(c.webhook+" "+c.name, func(t *testing.T) {
			code, _, text := s.post(t, "/webhooks/catalogs/default/"+c.webhook+"?timeout=1h", c.review)
			if code != http.StatusOK {
				t.Fatalf("HTTP %d: %s", code, text)
			}
			var answer admissionv1.AdmissionReview
			if err := json.Unmarshal(text, &answer); err != nil {
				t.Fatal(err)
			}
			got := answer.Response
			if got == nil || got.UID != "705ab4f5-6393-11e8-b7cc-42010a800002" || answer.APIVersion != "admission.k8s.io/v1" || answer.Kind != "AdmissionReview" {
				t.Fatalf("%s", text)
			}
			if outcome := s.reported(t); outcome != c.webhook+" "+c.outcome || got.Allowed != (c.outcome != "denied") {
				t.Errorf("%q, allowed %t: %s", outcome, got.Allowed, text)
			}
			if !reflect.DeepEqual(got.Warnings, c.warnings) {
				t.Errorf("warnings %q", got.Warnings)
			}
			checkResult(t, got.Result, c.code, c.message, c.causes)
			checkPatched(t, c.review, got, c.patched)
		})
	}
}

func checkResult(t *testing.T, got *metav1.Status, code int32, message string, causes []metav1.StatusCause) {
	t.Helper()
	if got == nil {
		if code != 0 {
			t.Error("no status")
		}
		return
	}
	if got.Status != metav1.StatusFailure || got.Code != code || got.Reason == "" || !strings.Contains(got.Message, message) {
		t.Errorf("%+v", got)
	}
	var all []metav1.StatusCause
	if got.Details != nil {
		all = got.Details.Causes
		if got.Details.Kind != "CronTab" || got.Details.Group != "stable.example.com" || got.Details.Name != "c" {
			t.Errorf("%+v", got.Details)
		}
	}
	if !reflect.DeepEqual(all, causes) {
		t.Errorf("causes %+v", all)
	}
}

func checkPatched(t *testing.T, review string, got *admissionv1.AdmissionResponse, want string) {
	t.Helper()
	if want == "" {
		if got.Patch != nil || got.PatchType != nil {
			t.Errorf("a patch: %s", got.Patch)
		}
		return
	}
	if got.PatchType == nil || *got.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Fatal("no patch")
	}
	var sent admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(review), &sent); err != nil {
		t.Fatal(err)
	}
	operations, err := jsonpatch.DecodePatch(got.Patch)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := operations.Apply(sent.Request.Object.Raw)
	if err != nil || !jsonpatch.Equal(patched, []byte(want)) {
		t.Errorf("%v: %s\nwith %s\nwant %s", err, patched, got.Patch, want)
	}
}

// TestNoAnswer: what is answered to requests that cannot be judged, so that the failurePolicy decides.
func TestNoAnswer(t *testing.T) {
	s := serve(t, func(o *gateway.Options) { o.MaxBodyBytes = 1 << 20 })
	valid := review("CREATE", `{`+fresh+`}`, ``)
	for _, c := range []struct {
		name, path, body string
		headers          []string
		code             int
		reason           metav1.StatusReason
		cause            metav1.CauseType
		message          string
	}{
		{"no such webhook", "/webhooks/catalogs/default/nothing", valid, nil, 404, metav1.StatusReasonNotFound, "PATH_NOT_FOUND", "/webhooks/catalogs/{catalog}/mutate, /validate and /convert"},
		{"no catalog", "/webhooks/catalogs//mutate", valid, nil, 404, metav1.StatusReasonNotFound, "PATH_NOT_FOUND", ""},
		{"another catalog", "/webhooks/catalogs/nowhere/mutate", valid, nil, 404, metav1.StatusReasonNotFound, "CATALOG_NOT_FOUND", "nowhere"},
		{"another catalog", "/webhooks/catalogs/nowhere/validate", valid, nil, 404, metav1.StatusReasonNotFound, "CATALOG_NOT_FOUND", "nowhere"},
		{"another version", "/webhooks/catalogs/default/mutate", strings.Replace(valid, "k8s.io/v1", "k8s.io/v1beta1", 1), nil, 400, metav1.StatusReasonBadRequest, "MALFORMED_BODY", `admissionReviewVersions: ["v1"]`},
		{"YAML", "/webhooks/catalogs/default/mutate", valid, []string{"Content-Type", "application/yaml"}, 415, metav1.StatusReasonUnsupportedMediaType, "MEDIA_TYPE_NOT_SUPPORTED", "application/json"},
		{"text", "/webhooks/catalogs/default/convert", valid, []string{"Content-Type", "text/plain"}, 415, metav1.StatusReasonUnsupportedMediaType, "MEDIA_TYPE_NOT_SUPPORTED", `"text/plain" is not supported: send application/json, in UTF-8`},
		{"protobuf", "/webhooks/catalogs/default/mutate", valid, []string{"Content-Type", "application/vnd.kubernetes.protobuf"}, 415, metav1.StatusReasonUnsupportedMediaType, "MEDIA_TYPE_NOT_SUPPORTED", ""},
		{"too large", "/webhooks/catalogs/default/mutate", valid + strings.Repeat(" ", 1<<20), nil, 413, metav1.StatusReasonRequestEntityTooLarge, "LIMIT_EXCEEDED", "max_message_bytes"},
		{"no timeout", "/webhooks/catalogs/default/mutate?timeout=soon", valid, nil, 400, metav1.StatusReasonBadRequest, "INVALID_ARGUMENT", "timeout"},
		{"no time", "/webhooks/catalogs/default/validate?timeout=1ns", valid, nil, 504, metav1.StatusReasonTimeout, "DEADLINE", ""},
		{"an unreadable old object", "/webhooks/catalogs/default/validate", review("UPDATE", `{`+metadata+`}`, `,"oldObject":{"kind":"CronTab"}`), nil, 400, metav1.StatusReasonBadRequest, "INVALID_ARGUMENT", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, text := s.post(t, c.path, c.body, c.headers...)
			var got metav1.Status
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if code != c.code || got.Code != int32(code) || got.Kind != "Status" || got.APIVersion != "v1" || got.Status != metav1.StatusFailure || got.Reason != c.reason ||
				!strings.Contains(got.Message, c.message) || got.Details == nil || len(got.Details.Causes) != 1 || got.Details.Causes[0].Type != c.cause {
				t.Errorf("HTTP %d: %s", code, text)
			}
			if c.cause != "PATH_NOT_FOUND" {
				if outcome := s.reported(t); !strings.HasSuffix(outcome, " error") {
					t.Errorf("%q", outcome)
				}
			}
		})
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/webhooks/catalogs/default/mutate", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "POST" {
		t.Errorf("%v, %v", answer, err)
	}
	_ = answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

// TestWhoMayCall: strangers are rejected before their body is read, and a busy server says when to try again.
func TestWhoMayCall(t *testing.T) {
	var rejection error
	s := serve(t, func(o *gateway.Options) {
		o.Entry = entryWith(func(*http.Request) error { return rejection })
	})
	body := review("CREATE", `{`+fresh+`}`, ``)
	rejection = status.Error(codes.Unauthenticated, "who are you")
	if code, header, text := s.post(t, "/webhooks/catalogs/default/validate", body); code != 401 || header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(string(text), "who are you") {
		t.Errorf("HTTP %d: %s", code, text)
	}
	rejection = status.Error(codes.Unavailable, "too much to do")
	if code, header, text := s.post(t, "/webhooks/catalogs/default/validate", body); code != 503 || header.Get("Retry-After") == "" || !strings.Contains(string(text), `"retryAfterSeconds":`+header.Get("Retry-After")) {
		t.Errorf("HTTP %d: %s", code, text)
	}
	rejection = errors.New("broken")
	if code, _, text := s.post(t, "/webhooks/catalogs/default/validate", body); code != 500 {
		t.Errorf("HTTP %d: %s", code, text)
	}
	rejection = nil
	if code, _, text := s.post(t, "/webhooks/catalogs/default/validate", body); code != 200 {
		t.Errorf("HTTP %d: %s", code, text)
	}
}
