package gateway

import (
	"net/http"
	"strings"
	"testing"
)

// TestRoutes: what is routed, and which methods a path supports.
func TestRoutes(t *testing.T) {
	_, rest := serve(t, Options{})
	for _, c := range []struct{ method, path, allowed string }{
		{"POST", "/v1/catalogs/default/crds", "ok"},
		{"POST", "/v1/catalogs/default/crds:check", "ok"},
		{"GET", "/v1/catalogs/default/crds/crontabs.stable.example.com", "ok"},
		{"POST", "/v1/catalogs/default:validate", "ok"},
		{"GET", "/v1/serverInfo", "ok"},
		{"GET", "/v1/catalogs/default/explain/crontabs.spec.a:b", "ok"},
		{"GET", "/v1/catalogs/default/explain/crontabs.spec.a%3Ab", "ok"},
		{"GET", "/v1/catalogs/default:validate", "POST"},
		{"PUT", "/v1/catalogs/default", "DELETE, GET"},
		{"PATCH", "/v1/catalogs", "GET, POST"},
		{"HEAD", "/v1/catalogs", "GET, POST"},
		{"HEAD", "/v1/catalogs/default/crds:watch", "GET"},
		{"HEAD", "/v1/catalogs/default:validate", "POST"},
		{"HEAD", "/v1/catalogs/default:admitStream", "POST"},
		{"GET", "/v1/catalogs/default:admitStream", "POST"},
		{"DELETE", "/healthz", "GET, HEAD"},
		{"GET", "/webhooks/catalogs/default/validate", "POST"},
		{"POST", "/v1/catalogs/default:valdate", ""},
		{"DELETE", "/v1/catalogs/default:valdate", ""},
		{"POST", "/v1/catalogs/:validate", ""},
		{"GET", "/v1/catalogs/", ""},
		{"GET", "/v2/catalogs", ""},
		{"GET", "/", ""},
	} {
		code, text, header := send(t, c.method, rest.URL+c.path, strings.NewReader(map[bool]string{true: "{}"}[c.method == "POST"]), nil)
		switch {
		case c.allowed == "ok" && (code == http.StatusNotFound || code == http.StatusMethodNotAllowed),
			c.allowed == "" && (code != http.StatusNotFound || !strings.Contains(text, "PATH_NOT_FOUND")),
			c.allowed != "ok" && c.allowed != "" && (code != http.StatusMethodNotAllowed || header.Get("Allow") != c.allowed):
			t.Errorf("%s %s: HTTP %d, Allow %q, want %q: %s", c.method, c.path, code, header.Get("Allow"), c.allowed, text)
		}
	}
}
