package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestAcceptsAggregated checks which headers Accept ask for aggregated discovery.
func TestAcceptsAggregated(t *testing.T) {
	for _, c := range []struct {
		accept []string
		want   bool
	}{
		{nil, false},
		{[]string{"text/plain"}, false},
		{[]string{mediaAggregated}, true},
		{[]string{"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + mediaAggregated}, true},
		{[]string{"application/vnd.kubernetes.protobuf," + mediaAggregated}, true},
		{[]string{"application/json", mediaAggregated}, false},
		{[]string{"*/*," + mediaAggregated}, false},
		{[]string{"", ";;;", "text/"}, false},
	} {
		if got := acceptsAggregated(http.Header{"Accept": c.accept}); got != c.want {
			t.Errorf("%q: %v, want %v", c.accept, got, c.want)
		}
	}
}

// TestForms checks that an OpenAPI document is JSON, that a client without JSON gets 406, and that the index is always JSON.
func TestForms(t *testing.T) {
	_, rest := serve(t, Options{})
	const protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	for _, c := range []struct {
		path, accept string
		rejected     bool
	}{
		{"openapi/v2", protobuf, true},
		{"openapi/v2", "text/html, " + protobuf, true},
		{"openapi/v3/apis/example.com/v1", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", true},
		{"openapi/v2", protobuf + ", application/json;q=0.5", false},
		{"openapi/v2", "", false},
		{"openapi/v2", "*/*", false},
		{"openapi/v2", "application/*", false},
		{"openapi/v3", "text/html", false},
		{"apis", protobuf, false},
	} {
		code, text, header := send(t, http.MethodGet, rest.URL+"/v1/catalogs/default/"+c.path, nil, http.Header{"Accept": {c.accept}})
		if !c.rejected {
			if code == http.StatusNotAcceptable {
				t.Errorf("%s, %q: HTTP %d %s", c.path, c.accept, code, text)
			}
			continue
		}
		const want = `"message":"only the following media types are accepted: application/json","reason":"NotAcceptable","code":406}`
		if code != http.StatusNotAcceptable || !strings.Contains(text, want) || header.Get("Vary") != "Accept" {
			t.Errorf("%s, %q: HTTP %d %s %v", c.path, c.accept, code, text, header)
		}
	}
}

// TestWithParameters checks that headers and parameters of Kubernetes' clients become what the messages have.
func TestWithParameters(t *testing.T) {
	for _, c := range []struct{ url, etag, accept, want string }{
		{"/v1/catalogs/c/apis", "", "", ""},
		{"/v1/catalogs/c/apis?timeout=32s", `"a"`, "", "ifNoneMatch=%22a%22"},
		{"/v1/catalogs/c/apis?ifNoneMatch=b", `"a"`, "", "ifNoneMatch=b"},
		{"/v1/catalogs/c/apis", "", mediaAggregated, "aggregated=true"},
		{"/v1/catalogs/c/apis/g/v1", "", mediaAggregated, ""},
		{"/v1/catalogs/c/openapi/v3/apis/g/v1?hash=AB&other=1", "", "", "other=1"},
		{"/v1/catalogs/c/apis?a=%zz", `"a"`, "", "a=%zz"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.url, http.NoBody)
		if c.etag != "" {
			r.Header.Set("If-None-Match", c.etag)
		}
		r.Header.Set("Accept", c.accept)
		if got := withParameters(r).URL.RawQuery; got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
	}
}

// TestKubernetesStatus checks that a rejection has the form of an API server.
func TestKubernetesStatus(t *testing.T) {
	const begin = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":`
	for _, c := range []struct {
		rejection *crdevalv1.Rejection
		want      string
	}{
		{&crdevalv1.Rejection{Code: 500, Reason: "InternalError", Message: `Internal error occurred: the spec replicas field ".spec.replicas" does not exist`},
			`"Internal error occurred: the spec replicas field \".spec.replicas\" does not exist","reason":"InternalError",` +
				`"details":{"causes":[{"message":"the spec replicas field \".spec.replicas\" does not exist"}]},"code":500}`},
		{&crdevalv1.Rejection{Code: 500, Message: ".spec.replicas accessor error: x"}, `".spec.replicas accessor error: x","code":500}`},
		{&crdevalv1.Rejection{Code: 404, Reason: "NotFound", Message: "none"}, `"none","reason":"NotFound","code":404}`},
	} {
		if got := string(kubernetesStatus(c.rejection)); got != begin+c.want {
			t.Errorf("%s\nwant %s", got, begin+c.want)
		}
	}
}

// TestWarningHeader: what cannot be in a header is not, and what no client would take is cut.
func TestWarningHeader(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain", `299 - "plain"`},
		{"a \"b\" \\ \r\nc", `299 - "a \"b\" \\   c"`},
		{strings.Repeat("é", maxWarning), `299 - "` + strings.Repeat("é", maxWarning) + `"`},
		{strings.Repeat("é", maxWarning+1), `299 - "` + strings.Repeat("é", maxWarning) + `..."`},
		{strings.Repeat("x", 3<<20), `299 - "` + strings.Repeat("x", maxWarning) + `..."`},
	} {
		if got := warningHeader(c.text); got != c.want {
			t.Errorf("%.100q is %.100q, want %.100q", c.text, got, c.want)
		}
	}
}
