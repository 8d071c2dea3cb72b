package app

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// hook is a conversion webhook that records its calls.
type hook struct {
	*httptest.Server
	ca    string // base64
	mu    sync.Mutex
	calls []string // the target version and the number of objects of each call
}

// startHook starts a webhook. It fails calls with an object whose host is fail, and reports that it cannot convert if a
// host is impossible.
func startHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var review struct {
			Request struct {
				UID               string
				DesiredAPIVersion string
				Objects           []struct{ APIVersion, Host string }
			}
		}
		if err == nil {
			err = json.Unmarshal(body, &review)
		}
		if err != nil {
			t.Error(err)
		}
		_, version, _ := strings.Cut(review.Request.DesiredAPIVersion, "/")
		h.mu.Lock()
		h.calls = append(h.calls, fmt.Sprintf("%s:%d", version, len(review.Request.Objects)))
		h.mu.Unlock()
		for _, o := range review.Request.Objects {
			if o.APIVersion == review.Request.DesiredAPIVersion {
				t.Errorf("an object of %s is converted to itself", o.APIVersion)
			}
			if o.Host == "fail" {
				http.Error(w, "no conversion today", http.StatusBadRequest)
				return
			}
			if o.Host == "impossible" {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"%s",
					"result":{"status":"Failure","message":"there is no host"}}}`, review.Request.UID)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		hostPorts(w, r)
	}))
	t.Cleanup(h.Close)
	h.ca = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
	return h
}

// crd returns the CRD of the webhook for a plural and a kind.
func (h *hook) crd(plural, kind string) string {
	text := fmt.Sprintf(hostPortCRD, h.ca, h.URL+"/"+plural)
	return strings.NewReplacer("crontabs", plural, "crontab", strings.ToLower(kind), "CronTab", kind).Replace(text)
}

// taken returns the calls since the last time.
func (h *hook) taken() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := h.calls
	h.calls = nil
	return calls
}

const (
	storedTab = `{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1","generation":1},"hostPort":"old:1"}`
	newTab    = `{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"n"},"host":"new","port":"2"}`
	ownTab    = `{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","namespace":"n"},"hostPort":"own:3"}`
)

// times returns n items.
func times(n int, item string) string { return strings.Repeat(item+",", n-1) + item }

func asJSON(t *testing.T, text string) string {
	t.Helper()
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(converted)
}

// TestConversionCalls checks which calls of webhooks each call of the API needs, and the objects at each version.
func TestConversionCalls(t *testing.T) {
	h := startHook(t)
	r := start(t, "--conversion-webhooks=127.0.0.1")
	rest := r.HTTPAddresses()[0]
	for _, crd := range []string{h.crd("crontabs", "CronTab"), h.crd("others", "Other")} {
		if code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", crd); code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
	}
	old, created, own := `{"object":`+storedTab+`}`, `{"create":{"object":`+newTab+`}}`, `{"create":{"object":`+ownTab+`}}`
	update := `{"update":{"object":` + strings.Replace(newTab, `"namespace":"n"`, `"namespace":"n","resourceVersion":"1"`, 1) + `,"oldObject":` + storedTab + `}}`
	failing, impossible := strings.Replace(created, `"new"`, `"fail"`, 1), strings.Replace(created, `"new"`, `"impossible"`, 1)
	other := strings.ReplaceAll(created, "CronTab", "Other")
	inline := asJSON(t, h.crd("inlines", "Inline"))
	changed := asJSON(t, strings.Replace(h.crd("crontabs", "CronTab"), "maxLength: 4", "maxLength: 5", 1))
	const converted, answer, kept = `"host":"old"`, `"host":"new"`, `"hostPort":"new:2"`
	for _, c := range []struct {
		name, path, body string
		calls            []string
		want             map[string]int // how often the response contains a text
	}{
		{"read", ":read", `{"targetVersion":"v1","items":[` + times(300, old) + `]}`, []string{"v1:300"}, map[string]int{converted: 300}},
		{"read objects of several versions", ":read", `{"targetVersion":"v1","items":[` + times(10, old) + "," + times(10, `{"object":`+newTab+`}`) + `]}`, []string{"v1:10"},
			map[string]int{converted: 10, answer: 10}},
		{"read at the stored version", ":read", `{"items":[` + times(10, old) + `]}`, nil, map[string]int{`"hostPort":"old:1"`: 10}},
		{"read of two CRDs", ":read", `{"targetVersion":"v1","items":[` + times(10, old+","+strings.ReplaceAll(old, "CronTab", "Other")) + `]}`,
			[]string{"v1:10", "v1:10"}, map[string]int{converted: 20}},
		{"read with an inline CRD", ":read", `{"targetVersion":"v1","context":{"crds":[` + inline + `]},"items":[` + times(20, strings.ReplaceAll(old, "CronTab", "Inline")) + `]}`,
			[]string{"v1:20"}, map[string]int{converted: 20}},
		{"convert", ":convert", `{"targetVersion":"v1","items":[` + times(20, old) + `]}`, []string{"v1:20"}, map[string]int{converted: 20}},
		{"create", ":admit", `{"items":[` + times(20, created) + `]}`, []string{"v1beta1:20", "v1:20"}, map[string]int{answer: 20, kept: 20}},
		{"create at the stored version", ":admit", `{"items":[` + times(20, own) + `]}`, nil, map[string]int{`"allowed":true`: 20}},
		{"create, partly at the stored version", ":admit", `{"items":[` + times(10, own+","+created) + `]}`, []string{"v1beta1:10", "v1:10"},
			map[string]int{`"allowed":true`: 20, answer: 10}},
		{"update", ":admit", `{"items":[` + times(20, update) + `]}`, []string{"v1:20", "v1beta1:20", "v1:20"}, map[string]int{answer: 20, kept: 20, `"generation":2`: 40}},
		{"validate an update", ":validate", `{"items":[` + times(20, update) + `]}`, []string{"v1:20"}, map[string]int{`"allowed":true`: 20}},
		{"validate", ":validate", `{"items":[` + times(20, created) + `]}`, nil, map[string]int{`"allowed":true`: 20}},
		{"a failed call", ":admit", `{"items":[` + times(5, failing+","+other+","+own) + `]}`, []string{"v1:5", "v1beta1:5", "v1beta1:5"},
			map[string]int{`"allowed":true`: 10, "CONVERSION_UNAVAILABLE": 5, "rejected our request": 5}},
		{"a webhook that cannot convert", ":admit", `{"items":[` + impossible + "," + own + `]}`, []string{"v1beta1:1"},
			map[string]int{`"allowed":true`: 1, "CONVERSION_FAILED": 1, `failed: there is no host`: 1}},
		{"table", ":table", `{"crd":"crontabs.example.com","version":"v1","objects":[` + times(20, storedTab) + `]}`, []string{"v1:20"}, map[string]int{`"a","1"`: 20}},
		{"table of several versions", ":table", `{"crd":"crontabs.example.com","version":"v1","objects":[` + times(5, storedTab+","+newTab) + `]}`, []string{"v1:5"},
			map[string]int{`"a","1"`: 5, `"a","2"`: 5}},
		{"replay of stored objects", "/crds:diff", `{"manifest":` + changed + `,"objects":[` + times(20, storedTab) + `]}`, []string{"v1:20", "v1:20"},
			map[string]int{`"REPLAY_OUTCOME_SAME"`: 20}},
		{"replay of other objects", "/crds:diff", `{"manifest":` + changed + `,"objects":[` + times(20, strings.Replace(newTab, `"2"`, `"12345"`, 1)) + `]}`,
			[]string{"v1:20", "v1:20", "v1beta1:20", "v1beta1:20", "v1beta1:20", "v1beta1:20"}, map[string]int{"REPLAY_OUTCOME_NEWLY_ACCEPTED": 20}},
	} {
		code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default"+c.path, "application/json", c.body)
		calls := h.taken()
		slices.Sort(calls)
		slices.Sort(c.calls)
		if code != http.StatusOK || !slices.Equal(calls, c.calls) {
			t.Errorf("%s: %d, calls %v, want %v: %.600s", c.name, code, calls, c.calls, body)
		}
		body = strings.ReplaceAll(body, " ", "")
		for text, n := range c.want {
			if got := strings.Count(body, strings.ReplaceAll(text, " ", "")); got != n {
				t.Errorf("%s: %s %d times, want %d: %.900s", c.name, text, got, n, body)
			}
		}
	}
}

// TestConversionStreams checks that the items of each message of a stream share calls, over gRPC and REST.
func TestConversionStreams(t *testing.T) {
	h := startHook(t)
	r := start(t, "--conversion-webhooks=127.0.0.1")
	rest := r.HTTPAddresses()[0]
	if code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", h.crd("crontabs", "CronTab")); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	client := crdevalv1.NewEvaluationServiceClient(r.conn(t))
	document := func(object string) *crdevalv1.Document {
		return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: []byte(object)}}
	}

	read, err := client.ReadStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []int{100, 40} {
		m := &crdevalv1.ReadStreamRequest{Items: slices.Repeat([]*crdevalv1.ObjectItem{{Object: document(storedTab)}}, n)}
		if i == 0 {
			m.Context, m.TargetVersion = &crdevalv1.EvaluationContext{Catalog: "default"}, "v1"
		}
		if err := read.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	_ = read.CloseSend()
	n := 0
	for {
		m, err := read.Recv()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, result := range m.GetResults() {
			if n++; !bytes.Contains(result.GetTransformed().GetObject().GetJson(), []byte(`"host":"old"`)) {
				t.Fatal(result)
			}
		}
	}
	if calls := h.taken(); n != 140 || !slices.Equal(calls, []string{"v1:100", "v1:40"}) {
		t.Errorf("ReadStream: %d results, calls %v", n, calls)
	}

	admit, err := client.AdmitStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := admit.Send(&crdevalv1.AdmitStreamRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: slices.Repeat([]*crdevalv1.WriteItem{{
		Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: document(newTab)}},
	}}, 100)}); err != nil {
		t.Fatal(err)
	}
	_ = admit.CloseSend()
	n = 0
	for {
		m, err := admit.Recv()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, result := range m.GetResults() {
			if n++; !result.GetVerdict().GetAllowed() || !bytes.Contains(result.GetVerdict().GetStoredObject().GetJson(), []byte(`"hostPort":"new:2"`)) {
				t.Fatal(result)
			}
		}
	}
	if calls := h.taken(); n != 100 || !slices.Equal(calls, []string{"v1beta1:100", "v1:100"}) {
		t.Errorf("AdmitStream: %d results, calls %v", n, calls)
	}

	code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default:readStream?bare=true&targetVersion=v1", "application/x-ndjson", strings.Repeat(storedTab+"\n", 50))
	calls := h.taken()
	total := 0
	for _, call := range calls {
		var k int
		_, _ = fmt.Sscanf(call, "v1:%d", &k)
		total += k
	}
	if code != http.StatusOK || strings.Count(strings.ReplaceAll(body, " ", ""), `"host":"old"`) != 50 || total != 50 {
		t.Errorf("%d, calls %v: %.600s", code, calls, body)
	}
}

// TestConversionOverGRPC checks the calls of the API that have no stream over gRPC.
func TestConversionOverGRPC(t *testing.T) {
	h := startHook(t)
	r := start(t, "--conversion-webhooks=127.0.0.1")
	if code, body := fetch(t, r.HTTPAddresses()[0], http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", h.crd("crontabs", "CronTab")); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	ctx, conn := t.Context(), r.conn(t)
	evaluation := crdevalv1.NewEvaluationServiceClient(conn)
	document := func(text string) *crdevalv1.Document {
		return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: []byte(text)}}
	}
	stored := []*crdevalv1.ObjectItem{{Object: document(storedTab)}, {Object: document(storedTab)}}
	for _, c := range []struct {
		name  string
		call  func() (fmt.Stringer, error)
		calls []string
		want  string // in the response; the text of a message doubles backslashes
	}{
		{"Read", func() (fmt.Stringer, error) {
			return evaluation.Read(ctx, &crdevalv1.ReadRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, TargetVersion: "v1", Items: stored})
		}, []string{"v1:2"}, `\"host\":\"old\"`},
		{"Convert", func() (fmt.Stringer, error) {
			return evaluation.Convert(ctx, &crdevalv1.ConvertRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, TargetVersion: "v1", Items: stored})
		}, []string{"v1:2"}, `\"host\":\"old\"`},
		{"Admit", func() (fmt.Stringer, error) {
			return evaluation.Admit(ctx, &crdevalv1.AdmitRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: document(newTab)}}}}})
		}, []string{"v1beta1:1", "v1:1"}, `\"hostPort\":\"new:2\"`},
		{"Table", func() (fmt.Stringer, error) {
			return crdevalv1.NewPresentationServiceClient(conn).Table(ctx, &crdevalv1.TableRequest{
				Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: "crontabs.example.com", Version: "v1", Objects: []*crdevalv1.Document{document(storedTab), document(storedTab)},
			})
		}, []string{"v1:2"}, `\"a\",\"1\"`},
		{"DiffCrd", func() (fmt.Stringer, error) {
			return crdevalv1.NewRegistryServiceClient(conn).DiffCrd(ctx, &crdevalv1.DiffCrdRequest{
				Catalog: "default", Manifest: &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: h.crd("crontabs", "CronTab")}},
				Objects: []*crdevalv1.Document{document(storedTab), document(storedTab)},
			})
		}, []string{"v1:2", "v1:2"}, "REPLAY_OUTCOME_SAME"},
	} {
		m, err := c.call()
		calls := h.taken()
		if err != nil || !slices.Equal(calls, c.calls) || !strings.Contains(m.String(), c.want) {
			t.Errorf("%s: %v, calls %v, want %v: %.600v", c.name, err, calls, c.calls, m)
		}
	}
}
