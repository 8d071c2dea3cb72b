package conversion

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/server/internal/testcert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversionReview is a ConversionReview of v1 or v1beta1, as a webhook reads and writes it.
type conversionReview struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Request    *reviewRequest  `json:"request,omitempty"`
	Response   *reviewResponse `json:"response,omitempty"`
}

type reviewRequest struct {
	UID               string           `json:"uid"`
	DesiredAPIVersion string           `json:"desiredAPIVersion"`
	Objects           []map[string]any `json:"objects"`
}

type reviewResponse struct {
	UID              string           `json:"uid"`
	ConvertedObjects []map[string]any `json:"convertedObjects"`
	Result           map[string]any   `json:"result"`
}

// honest answers a review: it changes the apiVersion of each object.
func honest(r *conversionReview) {
	for _, o := range r.Request.Objects {
		o["apiVersion"] = r.Request.DesiredAPIVersion
	}
	r.Response = &reviewResponse{
		UID: r.Request.UID, ConvertedObjects: r.Request.Objects, Result: map[string]any{"status": "Success"},
	}
	r.Request = nil
}

// serve starts a webhook over TLS and returns the configuration that a CRD has for it.
func serve(t *testing.T, h http.HandlerFunc) *apiextensionsv1.WebhookConversion {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	url := s.URL + "/convert"
	return &apiextensionsv1.WebhookConversion{
		ConversionReviewVersions: []string{"v1"},
		ClientConfig: &apiextensionsv1.WebhookClientConfig{
			URL:      &url,
			CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		},
	}
}

// answer returns a webhook that answers honestly, and then changes the answer.
func answer(change func(*conversionReview)) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		var r conversionReview
		if err := json.NewDecoder(request.Body).Decode(&r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		honest(&r)
		change(&r)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(r)
	}
}

func local(t *testing.T, o Options) *Client {
	t.Helper()
	var err error
	if o.Hosts, err = ParseHosts([]string{"localhost", "127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func request(w *apiextensionsv1.WebhookConversion, objects ...string) conversionwebhook.Request {
	r := conversionwebhook.Request{CRD: "things.example.com", Webhook: w, DesiredAPIVersion: "example.com/v1"}
	for _, o := range objects {
		r.Objects = append(r.Objects, []byte(o))
	}
	return r
}

const first, second = `{"apiVersion":"example.com/v1beta1","kind":"Thing","a":12345678901234567890}`,
	`{"apiVersion":"example.com/v1alpha1","kind":"Thing"}`

// TestConvert checks a call as the webhook sees it, in both versions of ConversionReview.
func TestConvert(t *testing.T) {
	for _, e := range []struct {
		supported []string
		want      string // the version that is used; empty: none
	}{
		{[]string{"v1"}, "v1"},
		{[]string{"v1beta1"}, "v1beta1"},
		{[]string{"v1beta1", "v1"}, "v1beta1"},
		{[]string{"v2", "v1"}, "v1"},
		{[]string{"v2"}, ""},
	} {
		var seen string
		w := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			seen = fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"), r.Header.Get("Accept"))
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			answer(func(a *conversionReview) { seen += " " + a.APIVersion + " " + a.Kind })(w, r)
		})
		w.ConversionReviewVersions = e.supported
		replies, err := local(t, Options{}).Convert(t.Context(), request(w, first, second))
		if e.want == "" {
			if err == nil || err.Error() != "no supported conversion review versions" || seen != "" {
				t.Errorf("%v: %v, %q", e.supported, err, seen)
			}
			continue
		}
		want := "POST /convert?timeout=30s application/json application/json, */* apiextensions.k8s.io/" + e.want +
			" ConversionReview"
		if err != nil || len(replies) != 2 || seen != want {
			t.Fatalf("%v: %v, %d objects, the webhook saw %q, want %q", e.supported, err, len(replies), seen, want)
		}
		for _, reply := range replies {
			if !strings.Contains(string(reply), `"apiVersion":"example.com/v1"`) {
				t.Errorf("%v: %s", e.supported, reply)
			}
		}
	}
}

// TestBadAnswers checks the errors of webhooks that fail or lie.
func TestBadAnswers(t *testing.T) {
	for _, e := range []struct {
		name    string
		webhook http.HandlerFunc
		want    string
	}{
		{"uid", answer(func(r *conversionReview) { r.Response.UID = "x" }), `", got "x"`},
		{"no response", answer(func(r *conversionReview) { r.Response = nil }), "no response provided"},
		{"version", answer(func(r *conversionReview) { r.APIVersion = "apiextensions.k8s.io/v1beta1" }),
			"converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"},
		{"failure", answer(func(r *conversionReview) {
			r.Response.Result = map[string]any{"status": "Failure", "message": "no"}
		}), "no"},
		{"no message", answer(func(r *conversionReview) { r.Response.Result = nil }),
			"response.result.status was '', not 'Success'"},
		{"status 500", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) }, "broken"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		},
			`the webhook redirects to "/other": redirects are not followed`},
		{"not JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
			"couldn't get version/kind"},
		{"truncated", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, "unexpected EOF"},
		{"large", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat(" ", 5000))
		}, "the response is larger than 4096 bytes, the limit"},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, strings.Repeat(" ", 100))
			}
		}, "the response is larger than 4096 bytes, the limit"},
	} {
		t.Run(e.name, func(t *testing.T) {
			c := local(t, Options{MaxResponseBytes: 4096})
			replies, err := c.Convert(t.Context(), request(serve(t, e.webhook), first))
			if err == nil || !strings.Contains(err.Error(), e.want) {
				t.Errorf("%s, %v; want %q", replies, err, e.want)
			}
		})
	}
}

// TestTimeout checks that a webhook that does not answer is given up.
func TestTimeout(t *testing.T) {
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices the end of the connection
		<-r.Context().Done()
	})
	_, err := local(t, Options{Timeout: 50 * time.Millisecond}).Convert(t.Context(), request(w, first))
	if err == nil || outcomeOf(t.Context(), err) != TimedOut {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = local(t, Options{}).Convert(ctx, request(w, first)); err == nil {
		t.Error("a cancelled call succeeded")
	}
}

// TestBreaker checks that a host is not called after several failures, and that another one is.
func TestBreaker(t *testing.T) {
	calls := 0
	broken := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		http.Error(w, "broken", http.StatusInternalServerError)
	})
	c := local(t, Options{})
	var err error
	for range maxFailures + 1 {
		_, err = c.Convert(t.Context(), request(broken, first))
	}
	if err == nil || !strings.Contains(err.Error(), "its last 5 calls failed") || calls != maxFailures {
		t.Errorf("%d calls, %v", calls, err)
	}
	if _, err := c.Convert(t.Context(), request(serve(t, answer(func(*conversionReview) {})), first)); err != nil {
		t.Error(err)
	}
}

// TestCertificates checks that the certificate of a webhook is verified, with the name of its service.
func TestCertificates(t *testing.T) {
	w := serve(t, answer(func(*conversionReview) {}))
	address := strings.TrimSuffix(strings.TrimPrefix(*w.ClientConfig.URL, "https://"), "/convert")
	unknown := *w.ClientConfig
	unknown.CABundle = nil
	path := "/convert"
	service := apiextensionsv1.WebhookClientConfig{CABundle: w.ClientConfig.CABundle,
		Service: &apiextensionsv1.ServiceReference{Namespace: "space", Name: "hook", Path: &path}}
	for _, e := range []struct {
		config apiextensionsv1.WebhookClientConfig
		want   string
	}{
		{unknown, "certificate signed by unknown authority"},
		{service, "certificate is valid for example.com, *.example.com, not hook.space.svc"},
		{apiextensionsv1.WebhookClientConfig{}, "the webhook has neither a service nor a URL"},
	} {
		w.ClientConfig = &e.config
		c := local(t, Options{Services: map[string]string{"space/hook": address}})
		if _, err := c.Convert(t.Context(), request(w, first)); err == nil || !strings.Contains(err.Error(), e.want) {
			t.Errorf("%v, want %q", err, e.want)
		}
	}
}

// TestClientCertificate checks that a webhook receives the client certificate.
func TestClientCertificate(t *testing.T) {
	own, key := testcert.New(t).Issue(t, "crdeval", time.Hour)
	files := []string{t.TempDir() + "/cert.pem", t.TempDir() + "/key.pem"}
	for i, text := range [][]byte{own, key} {
		if err := os.WriteFile(files[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := httptest.NewUnstartedServer(answer(func(*conversionReview) {}))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	defer s.Close()
	url := s.URL + "/convert"
	w := &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{
		URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}}
	if _, err := local(t, Options{}).Convert(t.Context(), request(w, first)); err == nil {
		t.Error("the webhook accepts calls without a certificate")
	}
	if _, err := local(t, Options{Certificate: files[0], Key: files[1]}).Convert(t.Context(), request(w, first)); err != nil {
		t.Error(err)
	}
}
