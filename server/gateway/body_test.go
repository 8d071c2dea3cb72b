package gateway

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestBodies: how bodies come in.
func TestBodies(t *testing.T) {
	r, rest := serve(t, Options{MaxBodyBytes: 1000})
	const manifest = `{"kind":"CustomResourceDefinition"}`
	for _, c := range []struct {
		name, media, body string
		chunked           bool
		code              int
		yaml              bool
	}{
		{"json", "application/json", manifest, false, 200, false},
		{"json with charset", "application/json; charset=UTF-8", manifest, false, 200, false},
		{"another charset", "application/json; charset=latin1", manifest, false, 415, false},
		{"a form, and curl -d", "application/x-www-form-urlencoded", manifest, false, 415, false},
		{"a form with a file", "multipart/form-data; boundary=x", manifest, false, 415, false},
		{"text", "text/plain", manifest, false, 415, false},
		{"no media type", "", manifest, false, 415, false},
		{"no media type, chunked", "", manifest, true, 415, false},
		{"merge patch", "application/merge-patch+json", manifest, false, 200, false},
		{"yaml", "application/yaml", "kind: CustomResourceDefinition", false, 200, true},
		{"old yaml", "text/yaml", "kind: CustomResourceDefinition", false, 200, true},
		{"binary", "application/octet-stream", manifest, false, 415, false},
		{"nonsense", "///", manifest, false, 415, false},
		{"chunked", "application/json", manifest, true, 200, false},
		{"chunked and large", "application/json", `"` + strings.Repeat("x", 1000) + `"`, true, 413, false},
		{"large", "application/json", `"` + strings.Repeat("x", 1000) + `"`, false, 413, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.manifest = nil
			var body io.Reader = strings.NewReader(c.body)
			if c.chunked {
				body = io.MultiReader(body) // a reader of unknown length
			}
			code, text, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default/crds", body, http.Header{"Content-Type": {c.media}})
			if code != c.code {
				t.Fatalf("HTTP %d %s, want %d", code, text, c.code)
			}
			if code != http.StatusOK {
				return
			}
			got := r.manifest.GetJson()
			if c.yaml {
				got = r.manifest.GetRawYaml()
			}
			if string(got) != c.body {
				t.Errorf("the manifest became %v", r.manifest)
			}
		})
	}
	var compressed bytes.Buffer
	code, _, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default/crds", &compressed, http.Header{"Content-Encoding": {"gzip"}})
	if code != http.StatusUnsupportedMediaType {
		t.Errorf("gzip: HTTP %d", code)
	}
}

// TestYAMLUnsaid checks that YAML with the media type of JSON gets a hint about the media type, and broken JSON does not.
func TestYAMLUnsaid(t *testing.T) {
	_, rest := serve(t, Options{})
	for _, c := range []struct {
		path, media, body string
		hint              bool
	}{
		{"/crds", "application/json", "apiVersion: v1\nkind: x\n", true},
		{"/crds", "text/json", "# a comment\nkind: x\n", true},
		{"/crds", "application/json", "---\nkind: x\n", true},
		{"/crds", "application/json", "\"kind\": x\n", true},
		{":validate", "application/json", "\nitems: []\n", true},
		{"/crds:register", "application/json", "- kind: x\n", true},
		{"/crds", "application/json", `{"kind": "x"} {}`, false},
		{":validate", "application/json", `{"items": [}`, false},
		{":validate", "application/json", `[]`, false},
		{":validate", "application/json", ``, false},
		{":validate", "application/yaml", "a: [\n", false},
	} {
		code, text, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default"+c.path, strings.NewReader(c.body), http.Header{"Content-Type": {c.media}})
		if code != http.StatusBadRequest || strings.Contains(text, "if it is YAML, send Content-Type: application/yaml") != c.hint {
			t.Errorf("%s, %q as %q: HTTP %d %s", c.path, c.body, c.media, code, text)
		}
	}
}

// TestPathAndBody: the catalog is the path's; a body may name the same one.
func TestPathAndBody(t *testing.T) {
	r, rest := serve(t, Options{})
	url := rest.URL + "/v1/catalogs/team-a:validate"
	for _, body := range []string{`{}`, `{"context":{"catalog":"team-a"}}`} {
		if code, text, _ := send(t, http.MethodPost, url, strings.NewReader(body), nil); code != http.StatusOK || r.catalog != "team-a" {
			t.Errorf("%s: HTTP %d %s, the call reached the catalog %q", body, code, text, r.catalog)
		}
	}
	r.catalog = ""
	code, text, _ := send(t, http.MethodPost, url, strings.NewReader(`{"context":{"catalog":"team-b"}}`), nil)
	if code != http.StatusBadRequest || !strings.Contains(text, `"reason":"INVALID_ARGUMENT"`) || !strings.Contains(text, `context.catalog is \"team-a\" in the path and \"team-b\" in the body`) || r.catalog != "" {
		t.Errorf("HTTP %d %s, the call reached the catalog %q", code, text, r.catalog)
	}
}

// TestNoBodyWanted: what would be ignored is rejected, however it is sent.
func TestNoBodyWanted(t *testing.T) {
	_, rest := serve(t, Options{})
	for name, body := range map[string]io.Reader{"known length": strings.NewReader(`{"force":true}`), "unknown length": io.MultiReader(strings.NewReader(`{}`))} {
		code, text, _ := send(t, http.MethodGet, rest.URL+"/v1/catalogs/a", body, nil)
		if code != http.StatusBadRequest || !strings.Contains(text, "GET /v1/catalogs/a takes no body") {
			t.Errorf("%s: HTTP %d %s", name, code, text)
		}
	}
}

// TestBareObject: an object in place of a request is answered with how to wrap it.
func TestBareObject(t *testing.T) {
	_, rest := serve(t, Options{})
	const object = `{"apiVersion": "stable.example.com/v1", "kind": "CronTab"}`
	for media, body := range map[string]string{"application/json": object, "application/yaml": "kind: CronTab\napiVersion: v1\n"} {
		code, text, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default:validate", strings.NewReader(body), http.Header{"Content-Type": {media}})
		if code != http.StatusBadRequest || !strings.Contains(text, `send {\"items\": [{\"create\": {\"object\": …}}]}`) {
			t.Errorf("%s: HTTP %d %s", media, code, text)
		}
	}
	for media, body := range map[string]string{"application/json": `{"items": [{"object": {}}]}`, "application/yaml": "items:\n- object: {}\n"} {
		code, text, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default:validate", strings.NewReader(body), http.Header{"Content-Type": {media}})
		if code != http.StatusBadRequest || !strings.Contains(text, `send {\"create\": {\"object\": …}}`) {
			t.Errorf("%s: HTTP %d %s", media, code, text)
		}
	}
}
