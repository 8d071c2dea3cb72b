package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/server/cmd/crdeval/cluster"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
)

// crdCluster is an API server with CRDs.
type crdCluster struct {
	t        *testing.T
	crds     []map[string]any
	requests []string // full or metadata, and the page
	fail     atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

// failWith sets a function that answers requests for which it returns true. A request that was cut off can still run.
func (c *crdCluster) failWith(fail func(w http.ResponseWriter, r *http.Request) bool) {
	c.fail.Store(&fail)
}

func (c *crdCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != cluster.CRDPath || r.Header.Get("Authorization") != "Bearer secret" {
		c.t.Errorf("%s %s %s", r.Method, r.URL, r.Header)
	}
	if fail := c.fail.Load(); fail != nil && (*fail)(w, r) {
		return
	}
	at, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		c.t.Error(err)
	}
	items, metadata := []any{}, map[string]any{}
	of := "full"
	if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
		of = "metadata"
	}
	for _, crd := range c.crds[at:min(at+limit, len(c.crds))] {
		item := map[string]any{"metadata": crd["metadata"], "spec": crd["spec"], "status": crd["status"]}
		if of == "metadata" {
			item = map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": crd["metadata"]}
		}
		items = append(items, item)
	}
	if at+limit < len(c.crds) {
		metadata["continue"] = strconv.Itoa(at + limit)
	}
	c.requests = append(c.requests, fmt.Sprint(of, " ", at))
	answerJSON(w, http.StatusOK, map[string]any{"kind": "CustomResourceDefinitionList", "metadata": metadata,
		"items": items})
}

func answerJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// TestCRDsOfCluster checks that --crds kube://CONTEXT reads the CRDs of a cluster in pages, caches them by their
// versions, and reports errors.
func TestCRDsOfCluster(t *testing.T) {
	c := &crdCluster{t: t}
	for _, name := range []string{"admit-crd.yaml", "buoys.yaml", "convert-none.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		first, _, _ := strings.Cut(string(text), "\n---\n")
		if err := yaml.Unmarshal([]byte(first), &crd); err != nil {
			t.Fatal(err)
		}
		crd["metadata"].(map[string]any)["uid"] = name
		crd["metadata"].(map[string]any)["resourceVersion"] = "1"
		crd["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}},
			"storedVersions": []any{"v1"}}
		c.crds = append(c.crds, crd)
	}
	server := httptest.NewTLSServer(c)
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: "team/a:b",
contexts: [{name: "team/a:b", context: {cluster: c, user: u}}, {name: closed, context: {cluster: d, user: u}}],
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}, {name: d, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: u, user: {token: secret}}]}`, server.URL, base64.StdEncoding.EncodeToString(authority))
	kubeconfig := file(t, config)
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv("HOME", t.TempDir())
	timeout, before := downloads.ClusterTimeout, downloads
	defer func() { downloads = before }()
	downloads = download.New("test")
	downloads.Folder, downloads.PageSize = t.TempDir(), 2

	object := "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: a}\n"
	admit := func(crds string, code int, want, requests string) {
		t.Helper()
		c.requests = nil
		got, stdout, stderr := invoke(t, object, "admit", "--crds", crds, "-")
		if got != code || !strings.Contains(stdout+stderr, want) || fmt.Sprint(c.requests) != requests {
			t.Errorf("%s: %d %s %s %v, want %d %s %s", crds, got, stdout, stderr, c.requests, code, want, requests)
		}
	}
	admit("kube://", 0, "1 allowed", "[full 0 full 2]")
	admit("kube://team/a:b", 0, "1 allowed", "[metadata 0 metadata 2]")
	c.crds[2]["metadata"].(map[string]any)["resourceVersion"] = "2"
	admit("kube://", 0, "1 allowed", "[metadata 0 metadata 2 full 0 full 2]")
	if files, err := os.ReadDir(downloads.Folder); err != nil || len(files) != 2 {
		t.Errorf("the cache has %v, %v: want the last response and its content", files, err)
	}
	if code, stdout, stderr := invoke(t, "", "diff", "kube://", "testdata/buoys.yaml", "--partial"); code != 0 ||
		!strings.HasPrefix(stdout, "buoys.harbour.example.com: identical\n") {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}

	// A list that expires starts again.
	c.failWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("continue") == "" {
			return false
		}
		c.fail.Store(nil)
		answerJSON(w, http.StatusGone, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410,
			"reason": "Expired", "message": "expired"})
		return true
	})
	admit("kube://", 0, "1 allowed", "[metadata 0 metadata 0 metadata 2]")
	c.failWith(func(w http.ResponseWriter, _ *http.Request) bool {
		answerJSON(w, http.StatusForbidden, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure",
			"code": 403, "reason": "Forbidden", "message": "u cannot list resource"})
		return true
	})
	admit("kube://", exitError, "crdeval: kube://: the CRDs of "+server.URL+" cannot be read: u cannot list resource: "+
		"the user needs the verb list for customresourcedefinitions\n", "[]")
	c.failWith(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	downloads.ClusterTimeout = 50 * time.Millisecond
	admit("kube://", exitError, "cannot be read: no complete response within 50ms\n", "[]")
	downloads.ClusterTimeout = timeout
	c.failWith(func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("{")); return true })
	admit("kube://", exitError, "cannot be read: the list of CRDs: unexpected end of JSON input\n", "[]")
	admit("kube://closed", exitError, "connection refused", "[]")
	admit("kube://other", exitError, `kube://other: the kubeconfig has no context "other": it has closed, team/a:b`, "[]")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent"))
	admit("kube://", exitError, "no kubeconfig with a current context was found: set KUBECONFIG, or name a context", "[]")
	admit("kube://a", exitError, `no context "a": it has none (is KUBECONFIG set?)`, "[]")
	t.Setenv("KUBECONFIG", file(t, "a: ["))
	admit("kube://", exitError, "yaml", "[]")
}
