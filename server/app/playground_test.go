package app

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/crdeval/crdeval/server/editor/playground"
)

// withPage makes servers of a test have a page, which npm builds otherwise.
func withPage(t *testing.T) {
	t.Helper()
	before := openPlayground
	openPlayground = func() (*playground.Playground, error) {
		return playground.From(fstest.MapFS{"web/dist/index.html": {Data: []byte("<title>playground</title>")}})
	}
	t.Cleanup(func() { openPlayground = before })
}

// TestPlayground checks that the page is public, and that calls need credentials and come from the page.
func TestPlayground(t *testing.T) {
	withPage(t)
	r := start(t, "--playground", "--auth-token-file="+write(t, "token-a,a,1\n"))
	address := r.HTTPAddresses()[0]
	for _, c := range []struct {
		method, path, body, token string
		code                      int
		want                      string
		header                    []string
	}{
		{method: "GET", path: "/playground/", code: 200, want: "<title>playground</title>"},
		{method: "GET", path: "/playground", code: 200, want: "<title>playground</title>"}, // after the redirect
		{method: "GET", path: "/playground/examples", code: 200, want: `"id":"ratcheting"`},
		{method: "GET", path: "/playground/none", code: 404},
		{method: "POST", path: "/playground/evaluate", body: `{"crd":"kind: Pod"}`, code: 401},
		{method: "POST", path: "/playground/evaluate", body: `{"crd":"kind: Pod"}`, token: "token-a", code: 200,
			want: "NOT_A_CRD"},
		{method: "POST", path: "/playground/explain", body: `{"crd":""}`, token: "token-a", code: 200,
			want: "there is no CRD"},
		{method: "POST", path: "/playground/evaluate", body: `{"x":1}`, token: "token-a", code: 400, want: "MALFORMED_BODY"},
		{method: "GET", path: "/playground/evaluate", token: "token-a", code: 405},
		{method: "POST", path: "/playground/evaluate", body: `{}`, token: "token-a", code: 403,
			header: []string{"Origin", "http://evil.example.com"}},
		{method: "GET", path: "/playground/", code: 403, header: []string{"Sec-Fetch-Site", "cross-site"}},
	} {
		headers := c.header
		if c.token != "" {
			headers = append(headers, "Authorization", "Bearer "+c.token)
		}
		code, text := fetch(t, address, c.method, c.path, "application/json", c.body, headers...)
		if code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: HTTP %d %s, want %d %s", c.method, c.path, c.body, code, text, c.code, c.want)
		}
	}
}

// TestPlaygroundIsBounded checks that calls are rejected without a free slot, and bounded by --max-item-time.
func TestPlaygroundIsBounded(t *testing.T) {
	withPage(t)
	r := start(t, "--playground", "--max-in-flight=1", "--max-item-time=1ms")
	slow := `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.a.example.com}\nspec:\n  group: a.example.com\n` +
		`  scope: Cluster\n  names: {plural: as, kind: A}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n` +
		`      openAPIV3Schema: {type: object, properties: {a: {type: string, pattern: \"^(x|[ab]{1,90}c?){1,9}e$\"}}}\n`
	object := `apiVersion: a.example.com/v1\nkind: A\nmetadata: {name: a}\na: ` + strings.Repeat("ab", 100_000) + `\n`
	code, text := fetch(t, r.HTTPAddresses()[0], http.MethodPost, "/playground/evaluate", "application/json",
		`{"crd":"`+slow+`","object":"`+object+`"}`)
	if code != http.StatusOK || !strings.Contains(text, "ITEM_DEADLINE") {
		t.Errorf("HTTP %d %.500s", code, text)
	}
	beginBody(t, r, "Content-Length: 100\r\n\r\n")
	eventually(t, func() error {
		code, text = fetch(t, r.HTTPAddresses()[0], http.MethodPost, "/playground/evaluate", "application/json", `{}`)
		if code != http.StatusServiceUnavailable {
			return errors.New(text)
		}
		return nil
	})
}

// TestPlaygroundSettings checks that the playground is off by default, and needs an address and a page.
func TestPlaygroundSettings(t *testing.T) {
	r := start(t)
	if code, _ := fetch(t, r.HTTPAddresses()[0], http.MethodGet, "/playground/", "", ""); code != http.StatusNotFound {
		t.Errorf("HTTP %d without --playground", code)
	}
	c, err := Defaults("--playground", "--http-address=off")
	if err == nil {
		err = c.Validate()
	}
	if err == nil || !strings.Contains(err.Error(), "--playground") {
		t.Errorf("without REST: %v", err)
	}
	before := openPlayground
	defer func() { openPlayground = before }()
	openPlayground = func() (*playground.Playground, error) { return playground.From(fstest.MapFS{}) }
	c, err = Defaults("--playground", "--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--store=memory")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), c, Build{}, slog.New(slog.DiscardHandler)); !errors.Is(err, playground.ErrNotBuilt) {
		t.Errorf("without a page: %v", err)
	}
}
