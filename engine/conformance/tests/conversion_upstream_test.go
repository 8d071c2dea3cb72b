package tests

import (
	"encoding/json"
	"encoding/pem"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/suites/conversion"
	"github.com/crdeval/crdeval/engine/conformance/upstreamtests"
	serverconversion "github.com/crdeval/crdeval/server/conversion"
)

// conversionTests are upstream's test functions of conversions: where they are replayed, or why they are not.
var conversionTests = map[string]string{
	"TestConversion":                                               "TestUpstreamConversionTables",
	"TestRestoreObjectMeta":                                        "TestUpstreamConversionTables",
	"TestGetObjectsToConvert":                                      "TestUpstreamConversionTables",
	"TestCreateConversionReviewObjects":                            "TestUpstreamConversionTables",
	"TestGetConvertedObjectsFromResponse":                          "TestUpstreamConversionTables",
	"TestConversionWebhookMetrics_ObserveConversionWebhookSuccess": "not replayed: counters of an API server",
	"TestConversionWebhookMetrics_ObserveConversionWebhookFailure": "not replayed: counters of an API server",
	"TestWebhookConverterWithWatchCache":                           "TestUpstreamConversionWebhooks",
	"TestWebhookConverterWithoutWatchCache":                        "TestUpstreamConversionWebhooks",
	"TestWebhookNotCalledForUnusedVersions":                        "TestUpstreamConversionWebhooks/unused_versions",
	"TestWebhookConversion_WhitespaceCABundleEtcdBypass":           "TestUpstreamConversionWebhooks/whitespace_bundle",
}

// conversionChecks are the checks of upstream's integration test, which TestUpstreamConversionWebhooks replays.
var conversionChecks = []string{
	"expectConversionFailureMessage", "validateDefaulting", "validateMixedStorageVersions", "validateNonTrivialConverted",
	"validateNonTrivialConvertedList", "validateObjectMetaMutation", "validateObjectMetaMutationObject", "validateServed",
	"validateStoragePruning", "validateStorageVersion", "validateUIDMutation",
}

// TestUpstreamConversionFunctions checks that each test and each check of upstream is known.
func TestUpstreamConversionFunctions(t *testing.T) {
	dir, err := upstreamtests.ModuleDir("k8s.io/apiextensions-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	var tests, checks []string
	for _, folder := range []string{"pkg/apiserver/conversion", "test/integration/conversion"} {
		files, err := filepath.Glob(filepath.Join(dir, folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", folder, files, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				switch {
				case !ok:
				case strings.HasPrefix(f.Name.Name, "Test"):
					tests = append(tests, f.Name.Name)
				case strings.HasPrefix(f.Name.Name, "validate"), strings.HasPrefix(f.Name.Name, "expect"):
					checks = append(checks, f.Name.Name)
				}
			}
		}
	}
	slices.Sort(tests)
	slices.Sort(checks)
	if known := slices.Sorted(maps.Keys(conversionTests)); !slices.Equal(tests, known) {
		t.Errorf("upstream has the tests %q, known are %q", tests, known)
	}
	if !slices.Equal(checks, conversionChecks) {
		t.Errorf("upstream has the checks %q, known are %q", checks, conversionChecks)
	}
}

// conversionRows is the number of rows in each of upstream's tables.
var conversionRows = map[string]int{
	"TestConversion": 4, "TestRestoreObjectMeta": 15, "TestGetObjectsToConvert": 7, "TestCreateConversionReviewObjects": 3,
	"TestGetConvertedObjectsFromResponse": 19,
}

// TestUpstreamConversionTables replays upstream's tables: each answer is compared with what upstream answers to the
// same webhook, and with what the row expects.
func TestUpstreamConversionTables(t *testing.T) {
	rows, err := upstreamtests.Read(upstreamtests.Conversions)
	if err != nil {
		t.Fatal(err)
	}
	h := startFake(t)
	n := map[string]int{}
	for _, r := range rows {
		n[r.Table]++
		t.Run(r.Table+"/"+r.Name, func(t *testing.T) {
			switch r.Table {
			case "TestConversion":
				replayConversion(t, r)
			case "TestRestoreObjectMeta":
				h.replayMetadata(t, r)
			case "TestGetObjectsToConvert":
				h.replaySent(t, r)
			case "TestCreateConversionReviewObjects":
				h.replayRequest(t, r)
			default:
				h.replayResponse(t, r)
			}
		})
	}
	if !maps.Equal(n, conversionRows) {
		t.Errorf("upstream has the rows %v, known are %v", n, conversionRows)
	}
}

type jsonObject = map[string]any

func decoded(t *testing.T, text []byte) (o jsonObject) {
	t.Helper()
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// conversionCRD returns a CRD without a schema. The last version is the stored one.
func conversionCRD(t *testing.T, group, kind string, conversion any, versions ...string) []byte {
	t.Helper()
	var list []any
	for i, v := range versions {
		list = append(list, jsonObject{"name": v, "served": true, "storage": i == len(versions)-1, "schema": jsonObject{
			"openAPIV3Schema": jsonObject{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
	}
	return []byte(encoded(t, jsonObject{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": jsonObject{"name": "things." + group},
		"spec": jsonObject{
			"group": group, "scope": "Cluster", "versions": list, "conversion": conversion,
			"names": jsonObject{"plural": "things", "singular": "thing", "kind": kind, "listKind": kind + "List"},
		},
	}))
}

func newSession(t *testing.T, manifest []byte, wrap func(conversionwebhook.Converter) conversionwebhook.Converter) conversion.Session {
	t.Helper()
	s, err := conversion.NewSession(manifest, wrap)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// replayConversion converts an object, or the items of a list, with the strategy None.
func replayConversion(t *testing.T, r upstreamtests.Row) {
	var versions []string
	group := ""
	for _, v := range r.Rules {
		var version string
		group, version, _ = strings.Cut(v, "/")
		versions = append(versions, version)
	}
	s := newSession(t, conversionCRD(t, group, "foo", jsonObject{"strategy": "None"}, versions...), nil)
	_, target, _ := strings.Cut(r.Rule, "/")
	items := func(text []byte) []any {
		o := decoded(t, text)
		if list, ok := o["items"].([]any); ok {
			return list
		}
		return []any{o}
	}
	var messages []string
	for i, item := range items(r.Obj) {
		item.(jsonObject)["kind"] = "foo" // an item without a kind cannot be sent
		up, diffs := s.Compare(conversion.Case{How: "convert", Target: target, Body: encoded(t, item)})
		for _, d := range diffs {
			t.Error(d)
		}
		if up.Rejection != nil {
			messages = append(messages, up.Rejection.Message)
		} else if want := items(r.Old); r.Message == "" && encoded(t, decoded(t, up.Object)) != encoded(t, want[i]) {
			t.Errorf("%s, want %s", up.Object, encoded(t, want[i]))
		}
	}
	if text := strings.Join(messages, "\n"); !strings.Contains(text, r.Message) || r.Message == "" && text != "" {
		t.Errorf("%q, want %q", text, r.Message)
	}
}

// fake is a webhook whose answers a test chooses.
type fake struct {
	config apiextensionsv1.WebhookClientConfig
	review jsonObject // the last request
	sent   []any      // the objects of all requests
	answer func(review jsonObject) any
}

func startFake(t *testing.T) *fake {
	h := &fake{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.review = nil
		if err := json.NewDecoder(r.Body).Decode(&h.review); err != nil {
			t.Error(err)
			return
		}
		request, _ := h.review["request"].(jsonObject)
		list, _ := request["objects"].([]any)
		h.sent = append(h.sent, list...)
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(h.answer(maps.Clone(h.review))); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	h.config.URL = new(string)
	*h.config.URL = server.URL + "/convert"
	h.config.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return h
}

// conversion returns the spec.conversion of a CRD with this webhook.
func (h *fake) conversion(reviews ...string) any {
	return jsonObject{"strategy": "Webhook", "webhook": jsonObject{
		"conversionReviewVersions": reviews, "clientConfig": h.config,
	}}
}

// respond answers with converted objects.
func respond(objects ...any) func(jsonObject) any {
	return func(review jsonObject) any {
		request, _ := review["request"].(jsonObject)
		review["response"] = jsonObject{
			"uid": request["uid"], "result": jsonObject{"status": "Success"}, "convertedObjects": objects,
		}
		return review
	}
}

// inGroup returns a row's JSON with a group that a CRD can have.
func inGroup(text []byte) []byte {
	return []byte(strings.ReplaceAll(string(text), `"foo/v`, `"foo.example.com/v`))
}

func (h *fake) replayMetadata(t *testing.T, r upstreamtests.Row) {
	s := newSession(t, conversionCRD(t, "foo.example.com", "Widget", h.conversion("v1"), "v1", "v2"), nil)
	named := func(text []byte, version string) jsonObject {
		o := decoded(t, text)
		o["apiVersion"], o["kind"] = "foo.example.com/"+version, "Widget"
		return o
	}
	h.answer = respond(named(r.Obj, "v2"))
	up, diffs := s.Compare(conversion.Case{How: "convert", Target: "v2", Body: encoded(t, named(r.Old, "v1"))})
	for _, d := range diffs {
		t.Error(d)
	}
	if (up.Rejection != nil) != r.Rejected {
		t.Fatalf("%+v, rejected: %v", up.Rejection, r.Rejected)
	}
	if r.Rejected {
		return
	}
	want := named(r.Schema, "v2")
	delete(want["metadata"].(jsonObject), "foo") // the handlers drop unknown fields of metadata
	if encoded(t, decoded(t, up.Object)) != encoded(t, want) {
		t.Errorf("%s, want %s", up.Object, encoded(t, want))
	}
}

func (h *fake) replaySent(t *testing.T, r upstreamtests.Row) {
	s := newSession(t, conversionCRD(t, "foo.example.com", "Widget", h.conversion("v1"), "v1", "v2", "v3"), nil)
	object := decoded(t, inGroup(r.Obj))
	_, target, _ := strings.Cut(r.Rule, "/")
	h.answer = func(review jsonObject) any {
		request, _ := review["request"].(jsonObject)
		list, _ := request["objects"].([]any)
		converted := slices.Clone(list)
		for i, o := range list {
			o := maps.Clone(o.(jsonObject))
			o["apiVersion"] = request["desiredAPIVersion"]
			converted[i] = o
		}
		return respond(converted...)(review)
	}
	h.sent = nil
	if items, ok := object["items"].([]any); ok {
		var docs []engine.Document
		for _, item := range items {
			docs = append(docs, engine.JSON([]byte(encoded(t, item))))
		}
		if _, err := publish.TableOf(t.Context(), s.Engine(), target, docs, publish.TableOptions{}); err != nil {
			t.Error(err)
		}
	} else if _, err := s.Engine().Convert(t.Context(), engine.JSON([]byte(encoded(t, object))), target, engine.TransformOptions{}); err != nil {
		t.Error(err)
	}
	var want []any
	if err := json.Unmarshal(inGroup(r.Old), &want); err != nil {
		t.Fatal(err)
	}
	for _, o := range h.sent {
		delete(o.(jsonObject)["metadata"].(jsonObject), "generation") // which reads repair
	}
	if encoded(t, h.sent) != encoded(t, want) {
		t.Errorf("sent %s, want %s", encoded(t, h.sent), encoded(t, want))
	}
}

func (h *fake) replayRequest(t *testing.T, r upstreamtests.Row) {
	hosts, err := serverconversion.ParseHosts([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := serverconversion.New(serverconversion.Options{Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const object = `{"apiVersion":"foo/v2","Kind":"Widget"}`
	h.answer = respond(json.RawMessage(object))
	_, err = client.Convert(t.Context(), conversionwebhook.Request{
		Webhook:           &apiextensionsv1.WebhookConversion{ClientConfig: &h.config, ConversionReviewVersions: r.Rules},
		DesiredAPIVersion: "foo/v1", Objects: [][]byte{[]byte(object)},
	})
	if err != nil || r.Message != "" {
		if err == nil || err.Error() != r.Message {
			t.Errorf("%v, want %q", err, r.Message)
		}
		return
	}
	want, got := decoded(t, r.Old), maps.Clone(h.review)
	want["apiVersion"], want["kind"] = "apiextensions.k8s.io/"+r.Rules[0], "ConversionReview"
	got["request"].(jsonObject)["uid"] = "uid"
	if encoded(t, got) != encoded(t, want) {
		t.Errorf("sent %s, want %s", encoded(t, got), encoded(t, want))
	}
}

// overHTTP are the errors of rows whose response cannot be decoded. Upstream's test does not decode it.
var overHTTP = map[string]string{
	"invalid v1, mismatched apiVersion": `no kind "ConversionReview" is registered for version "apiextensions.k8s.io/v2"`,
	"invalid v1, mismatched kind":       `no kind "ConversionReview2" is registered for version "apiextensions.k8s.io/v1"`,
}

func (h *fake) replayResponse(t *testing.T, r upstreamtests.Row) {
	if string(r.Obj) == "null" {
		if r.Message != "unrecognized response type" {
			t.Error("a row without a response")
		}
		return // no webhook can cause that
	}
	version := "v1"
	if strings.Contains(r.Name, "v1beta1") {
		version = "v1beta1"
	}
	s := newSession(t, conversionCRD(t, "foo.example.com", "Widget", h.conversion(version), "v1", "v2"), nil)
	h.answer = func(review jsonObject) any {
		answer := decoded(t, inGroup(r.Obj))
		response, _ := answer["response"].(jsonObject)
		if request, ok := review["request"].(jsonObject); ok && response["uid"] == "uid" {
			response["uid"] = request["uid"]
		}
		return answer
	}
	up, diffs := s.Compare(conversion.Case{How: "convert", Target: "v1",
		Body: `{"apiVersion":"foo.example.com/v2","kind":"Widget","metadata":{"name":"myv1"}}`})
	for _, d := range diffs {
		t.Error(d)
	}
	got := ""
	if up.Rejection != nil {
		got = up.Rejection.Message
	}
	want := strings.ReplaceAll(r.Message, `"uid"`, `"UID"`)
	if want == "" && string(r.Old) == "null" {
		want = "returned 0 objects, expected 1"
	}
	if text, found := overHTTP[r.Name]; found {
		want = text
	}
	if !strings.Contains(got, want) || want == "" && got != "" {
		t.Errorf("%q, want %q", got, want)
	}
}
