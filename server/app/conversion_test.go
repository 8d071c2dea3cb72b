package app

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// hostPorts is a conversion webhook for the example of the Kubernetes documentation: v1beta1 has hostPort, v1 has host
// and port.
func hostPorts(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			UID               string           `json:"uid"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, o := range review.Request.Objects {
		o["apiVersion"] = review.Request.DesiredAPIVersion
		if together, ok := o["hostPort"].(string); ok {
			o["host"], o["port"], _ = strings.Cut(together, ":")
			delete(o, "hostPort")
		} else {
			o["hostPort"] = fmt.Sprintf("%v:%v", o["host"], o["port"])
			delete(o, "host")
			delete(o, "port")
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
			"uid": review.Request.UID, "convertedObjects": review.Request.Objects, "result": map[string]any{"status": "Success"},
		},
	})
}

// hostPortCRD has the caBundle and the URL of its webhook as arguments of Sprintf.
const hostPortCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1, v1beta1], clientConfig: {caBundle: %s, url: "%s"}}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {hostPort: {type: string}}}}
    additionalPrinterColumns: [{name: Address, type: string, jsonPath: .hostPort}]
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {host: {type: string}, port: {type: string, maxLength: 4}}}}
    additionalPrinterColumns: [{name: Port, type: string, jsonPath: .port}]
`

// TestConversionWebhooks: every call that needs the webhook of a CRD works, and one call of it serves a batch.
func TestConversionWebhooks(t *testing.T) {
	var calls atomic.Int64
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		hostPorts(w, r)
	}))
	defer webhook.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}))
	crd := fmt.Sprintf(hostPortCRD, ca, webhook.URL+"/crdconvert")

	r := start(t, "--conversion-webhooks=127.0.0.1")
	rest := r.HTTPAddresses()[0]
	post := func(path, body string) string {
		t.Helper()
		code, answer := fetch(t, rest, http.MethodPost, "/v1/catalogs/default"+path, "application/json", body)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, answer)
		}
		return answer
	}
	if code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", crd); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	const stored = `{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","namespace":"n","uid":"u","generation":1},"hostPort":"localhost:1234"}`
	const given = `{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"n"},"host":"localhost","port":"1234"}`
	for _, c := range []struct {
		path, body string
		calls      int64
		want       []string
	}{
		{":read", `{"targetVersion":"v1","items":[` + strings.Repeat(`{"object":`+stored+`},`, 99) + `{"object":` + stored + `}]}`, 1,
			[]string{`"host":"localhost"`, `"port":"1234"`, `"apiVersion":"example.com/v1"`}},
		{":convert", `{"targetVersion":"v1","items":[{"object":` + stored + `}]}`, 1, []string{`"port":"1234"`}},
		{":admit", `{"items":[{"create":{"object":` + given + `}}]}`, 2, []string{`"allowed":true`, `"storedObject"`, `"hostPort":"localhost:1234"`, `"host":"localhost"`}},
		{":admit", `{"items":[{"create":{"object":` + strings.Replace(given, "1234", "12345", 1) + `}}]}`, 0, []string{`"allowed":false`, "Too long"}},
		{":table", `{"crd":"crontabs.example.com","version":"v1","objects":[` + strings.Repeat(stored+",", 9) + stored + `]}`, 1, []string{`"1234"`}},
	} {
		before := calls.Load()
		answer := strings.ReplaceAll(post(c.path, c.body), " ", "")
		for _, want := range c.want {
			if !strings.Contains(answer, strings.ReplaceAll(want, " ", "")) {
				t.Errorf("%s: %s is not in %.700s", c.path, want, answer)
			}
		}
		if n := calls.Load() - before; n != c.calls {
			t.Errorf("%s: %d calls, want %d", c.path, n, c.calls)
		}
	}
}

// TestConversionIsForbidden: by default no host is called.
func TestConversionIsForbidden(t *testing.T) {
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	defer webhook.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}))
	rest := start(t).HTTPAddresses()[0]
	if code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", fmt.Sprintf(hostPortCRD, ca, webhook.URL)); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	_, answer := fetch(t, rest, http.MethodPost, "/v1/catalogs/default:convert", "application/json",
		`{"targetVersion":"v1","items":[{"object":{"apiVersion":"example.com/v1beta1","kind":"CronTab","hostPort":"a:1"}}]}`)
	for _, want := range []string{"CONVERSION_UNAVAILABLE", "--conversion-webhooks", "no accepted conversion rules", "SetConversion", "--crds"} {
		if !strings.Contains(answer, want) {
			t.Errorf("%s is not in %s", want, answer)
		}
	}
}

// TestFailedReviewsAreObserved: the metrics and the log name the CRD whose objects crdeval cannot convert as a webhook.
func TestFailedReviewsAreObserved(t *testing.T) {
	r := start(t)
	rest := r.HTTPAddresses()[0]
	crd := strings.Replace(hostPortCRD, "caBundle: %s, url: \"%s\"", "url: 'https://example.com/'", 1)
	if code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", crd); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	_, answer := fetch(t, rest, http.MethodPost, "/webhooks/catalogs/default/convert", "application/json",
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"example.com/v1",
			"objects":[{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a"},"hostPort":"secret:1"}]}}`)
	_, metrics := fetch(t, rest, http.MethodGet, "/metrics", "", "")
	const metric = `crdeval_webhook_objects_total{crd="crontabs.example.com",outcome="failed"} 1`
	if !strings.Contains(answer, "has no conversion rules") || !strings.Contains(metrics, metric) {
		t.Errorf("%s\n%s", answer, metrics)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if log := r.log.String(); strings.Count(log, "crd=crontabs.example.com objects=1 failed=1 reason=CONVERSION_UNAVAILABLE") != 1 ||
		strings.Contains(log, "secret") {
		t.Error(log)
	}
}
