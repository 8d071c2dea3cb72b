package playground

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/crdeval/crdeval/server/editor/playground/page"
)

// newPage returns a small page, because npm builds the real one.
func newPage(t *testing.T) *Playground {
	t.Helper()
	p, err := From(fstest.MapFS{
		"web/dist/index.html": {Data: []byte("<!doctype html><title>t</title>")},
		"web/dist/app.js":     {Data: []byte(strings.Repeat("var a = 1\n", 1000))},
		"web/dist/.keep":      {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNotBuilt checks that a binary without the page says how to build it.
func TestNotBuilt(t *testing.T) {
	if _, err := From(fstest.MapFS{"web/dist/.keep": {}}); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("error %v", err)
	}
}

func send(h http.Handler, method, path, body string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestFiles(t *testing.T) {
	h := newPage(t).Handler()
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8",
		"/examples": "application/json",
	} {
		r := send(h, http.MethodGet, path, "")
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != kind {
			t.Errorf("%s: %d %v", path, r.StatusCode, r.Header)
		}
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Cross-Origin-Resource-Policy",
			"ETag"} {
			if r.Header.Get(name) == "" {
				t.Errorf("%s has no header %s", path, name)
			}
		}
		if strings.Contains(r.Header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: the policy is %s", path, r.Header.Get("Content-Security-Policy"))
		}
		if r := send(h, http.MethodGet, path, "", "If-None-Match",
			r.Header.Get("ETag")); r.StatusCode != http.StatusNotModified {
			t.Errorf("%s with its ETag: %d", path, r.StatusCode)
		}
	}
	plain := send(h, http.MethodGet, "/app.js", "", "Accept-Encoding", "gzip;q=0, br")
	packed := send(h, http.MethodGet, "/app.js", "", "Accept-Encoding", "br, gzip")
	if plain.Header.Get("Content-Encoding") != "" || packed.Header.Get("Content-Encoding") != "gzip" ||
		packed.ContentLength >= plain.ContentLength {
		t.Fatalf("encodings %v and %v", plain.Header, packed.Header)
	}
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := io.ReadAll(plain.Body)
	if b, err := io.ReadAll(unpacked); err != nil || string(a) != string(b) {
		t.Errorf("the compressed file differs: %v", err)
	}
}

func TestCalls(t *testing.T) {
	h := newPage(t).Handler()
	for _, c := range []struct {
		method, path, kind, body string
		code                     int
		want                     string // in the answer
	}{
		{"POST", "/evaluate", "application/json", `{"crd":"kind: Pod"}`, 200, `"reason":"NOT_A_CRD"`},
		{"POST", "/explain", "application/json; charset=utf-8", `{"crd":""}`, 200, `there is no CRD`},
		{"POST", "/complete", "application/json", `{"crd":"kind: ","document":"crd","offset":6}`, 200,
			`"label":"CustomResourceDefinition"`},
		{"POST", "/complete", "application/json", `{"offset":"1"}`, 400, "cannot unmarshal string"},
		{"POST", "/hover", "application/json", `{"crd":"kind: a","document":"crd","offset":1}`, 200, `{}`},
		{"POST", "/hover", "application/json", `{"document":"x"}`, 200, `unknown document`},
		{"POST", "/hover", "application/json", `{"position":1}`, 400, "unknown field"},
		{"POST", "/evaluate", "application/json", `{"crd":1}`, 400, "cannot unmarshal number"},
		{"POST", "/evaluate", "application/json", `{"crds":""}`, 400, "unknown field"},
		{"POST", "/evaluate", "application/json", `{} {}`, 400, "text after the JSON value"},
		{"POST", "/evaluate", "application/json", ``, 400, "EOF"},
		{"POST", "/evaluate", "text/plain", `{}`, 415, "application/json"},
		{"POST", "/evaluate", "application/json", strings.Repeat(" ", page.MaxRequestBytes+1), 413, "exceeds the limit"},
		{"GET", "/evaluate", "", "", 405, "use POST"},
		{"POST", "/app.js", "application/json", "", 405, "use GET, HEAD"},
		{"GET", "/../secret", "", "", 404, "no page"},
		{"GET", "/.keep", "", "", 404, "no page"},
	} {
		r := send(h, c.method, c.path, c.body, "Content-Type", c.kind)
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != c.code || !strings.Contains(string(body), c.want) || !json.Valid(body) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, r.StatusCode, body, c.code, c.want)
		}
		if r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s can be cached", c.method, c.path)
		}
	}
}
