package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
)

// serveFiles starts an HTTPS server with the files of a folder, whose URL is in the variable SERVER, and which the
// command trusts: https FOLDER. The path /private redirects to it by name, and /http to a URL without TLS.
func serveFiles(ts *testscript.TestScript, _ bool, args []string) {
	files := http.FileServer(http.Dir(ts.MkAbs(args[0])))
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/http" {
			http.Redirect(w, r, "http://"+r.Host+"/kites.yaml", http.StatusFound)
			return
		}
		files.ServeHTTP(w, r)
	}))
	workingDirectory.Lock()
	client := *downloads.Client
	workingDirectory.Unlock()
	client.Transport = server.Client().Transport.(*http.Transport).Clone()
	client.Transport.(*http.Transport).DisableKeepAlives = true
	scriptDownloads.Store(ts, &download.Reader{Client: &client, Folder: ts.MkAbs("cache")})
	ts.Defer(server.Close)
	ts.Setenv("SERVER", server.URL)
}

// expand replaces $SERVER in files: expand FILE...
func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$SERVER", ts.Getenv("SERVER"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}
