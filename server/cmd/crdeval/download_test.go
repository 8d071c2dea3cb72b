package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// TestCRDsByHTTPS: --crds takes a URL. Unchanged and pinned files come from the cache.
func TestCRDsByHTTPS(t *testing.T) {
	crd, err := os.ReadFile("testdata/admit-crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(crd))
	sent := map[int]int{} // responses by their status
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		switch {
		case r.URL.Path == "/insecure":
			http.Redirect(w, r, "http://"+r.Host+"/crd.yaml", http.StatusFound)
			return
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/crd.yaml", http.StatusFound)
			return
		case r.URL.Path == "/pod":
			_, _ = w.Write([]byte("apiVersion: v1\nkind: Pod\n"))
			return
		case r.Header.Get("Referer") != "":
			t.Errorf("%s has the referer %s", r.URL, r.Header.Get("Referer"))
			return
		case r.URL.Path == "/large":
			_, _ = w.Write(bytes.Repeat([]byte("#"), 64<<20+1))
			return
		case r.URL.Path == "/empty":
		case r.URL.Path != "/crd.yaml":
			status = http.StatusNotFound
		case r.Header.Get("If-None-Match") == `"1"`:
			status = http.StatusNotModified
		}
		sent[status]++
		w.Header().Set("ETag", `"1"`)
		if w.WriteHeader(status); status == http.StatusOK && r.URL.Path != "/empty" {
			_, _ = w.Write(crd)
		}
	}))
	defer server.Close()
	before := downloads
	defer func() { downloads = before }()
	client := *before.Client
	client.Transport = server.Client().Transport
	client.Transport.(*http.Transport).DisableKeepAlives = true
	downloads = &download.Reader{Client: &client, Folder: t.TempDir()}

	admit := func(crds string, code int, want string) {
		t.Helper()
		got, stdout, stderr := invoke(t, "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: a}\n", "admit", "--crds", crds, "-")
		if got != code || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: %d %s %s, want %d %s", crds, got, stdout, stderr, code, want)
		}
	}
	responses := func(want string) {
		t.Helper()
		if got := fmt.Sprint(sent); got != want {
			t.Errorf("the responses are %s, not %s", got, want)
		}
	}
	url := server.URL + "/crd.yaml"
	admit(url, 0, "1 allowed")
	admit(url, 0, "1 allowed")
	responses("map[200:1 304:1]")
	admit(url+"#sha256="+sum, 0, "1 allowed")
	responses("map[200:1 304:1]")

	// A damaged file of the cache is not used.
	if err := os.WriteFile(filepath.Join(downloads.Folder, sum), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	admit(url, 0, "1 allowed")
	responses("map[200:2 304:1]")

	admit(server.URL+"/moved?token=secret", 0, "1 allowed")
	for _, crds := range []string{server.URL + "/pod?token=secret", "https://user:secret@a host/a"} {
		if code, _, stderr := invoke(t, "", "admit", "--crds", crds, "-"); code != exitError || strings.Contains(stderr, "secret") {
			t.Errorf("%s: %d %s", crds, code, stderr)
		}
	}
	other := strings.Repeat("0", 64)
	admit(url+"#sha256="+other, exitError, url+"#sha256="+other+": the content has the SHA-256 "+sum+", and the URL has "+other+": ")
	admit(url+"#sha256=1", exitError, "the fragment #sha256=1 is invalid: use #sha256= and 64 hexadecimal digits")
	admit(server.URL+"/absent", exitError, server.URL+"/absent: the server answered 404 Not Found")
	admit(server.URL+"/empty", exitError, "the file is empty")
	admit(server.URL+"/large", exitError, "the file is larger than 64 MiB")
	admit(server.URL+"/insecure", exitError, "which is not https")
	admit("http://example.invalid/crd.yaml", exitError,
		"http://example.invalid/crd.yaml: http:// is not supported: use https://")
	for _, name := range []string{url, repository.Cluster} {
		if code, stdout, stderr := invoke(t, "", "admit", name); code != exitError ||
			!strings.Contains(stdout, name+": error: only CRDs can be read from a URL or a cluster: save the objects in a file") {
			t.Errorf("objects from a URL: %d %s", code, stderr)
		}
	}
	for _, args := range []string{"check --old URL testdata/admit-crd.yaml", "check URL",
		"diff URL testdata/admit-crd.yaml", "discover URL", "explain --crds URL kites"} {
		if code, _, stderr := invoke(t, "", strings.Fields(strings.ReplaceAll(args, "URL", url))...); code != 0 {
			t.Errorf("%s: %d %s", args, code, stderr)
		}
	}
	server.Close()
	admit(url, exitError, "connection refused")
	admit(url+"#sha256="+sum, 0, "1 allowed")
}
