package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLSP runs the command with messages of a client, and checks the settings that it takes from flags and files.
func TestLSP(t *testing.T) {
	const (
		thing = "apiVersion: example.com/v1\nkind: Good\nmetadata: {name: a}\nx: 1\n"
		other = "apiVersion: example.com/v1\nkind: Bad\nmetadata: {name: a}\nx: 1\n"
	)
	strict := strings.Replace(good, "{type: object}", "{type: object, properties: {a: {type: string}}}", 1)
	for name, tc := range map[string]struct {
		files map[string]string
		args  []string
		file  string
		want  string // part of the diagnostics or of a message; "": no diagnostics
	}{
		"a CRD of the workspace": {map[string]string{"crd.yaml": strict, "a.yaml": thing}, nil, "a.yaml",
			`"severity":1,"code":"UnknownField"`},
		"--crds": {map[string]string{"hidden/.crds/crd.yaml": strict, "a.yaml": thing},
			[]string{"--crds=ROOT/hidden/.crds"}, "a.yaml", "UnknownField"},
		"crds in the configuration": {map[string]string{".crds/crd.yaml": strict, "a.yaml": thing,
			".crdeval.yaml": "crds: .crds\nfield-validation: warn\n"}, nil, "a.yaml", `"severity":2,"code":"UnknownField"`},
		"flags take precedence": {map[string]string{"crd.yaml": strict, "a.yaml": thing,
			".crdeval.yaml": "lsp: {field-validation: warn}\n"},
			[]string{"--field-validation=ignore"}, "a.yaml", ""},
		"a section for lsp": {map[string]string{"crd.yaml": strict, "a.yaml": thing,
			".crdeval.yaml": "field-validation: ignore\nlsp: {field-validation: warn}\n"}, nil, "a.yaml", `"severity":2,"code":"UnknownField"`},
		"an invalid configuration": {map[string]string{"crd.yaml": strict, "a.yaml": thing,
			".crdeval.yaml": "fieldvalidation: warn\n"}, nil, "a.yaml", `unknown setting \"fieldvalidation\"`},
		"an invalid version": {map[string]string{"crd.yaml": strict, "a.yaml": thing, ".crdeval.yaml": "kubernetes: 1.3\n"},
			nil, "a.yaml", `kubernetes: \"1.3\" is not a supported version of Kubernetes: use 1.25 to 1.37`},
		"an invalid value": {map[string]string{"crd.yaml": strict, "a.yaml": thing, ".crdeval.yaml": "lsp: {field-validation: lax}\n"},
			nil, "a.yaml", `--field-validation: \"lax\" is not strict, warn or ignore (`},
		"a section for admit": {map[string]string{"crd.yaml": strict, "a.yaml": thing,
			".crdeval.yaml": "field-validation: ignore\nadmit: {field-validation: warn}\n"}, nil, "a.yaml", `"severity":2,"code":"UnknownField"`},
		"a URL in the configuration": {map[string]string{"a.yaml": thing, ".crdeval.yaml": "crds: https://127.0.0.1:1/a\n"},
			nil, "a.yaml", "list it in crd-sources, and run crdeval crds pull"},
		"CRD sources": {map[string]string{".crdeval/crds/a-" + sha256Of([]byte("https://h/a"))[:8] + ".yaml": strict, "a.yaml": thing,
			".crdeval.yaml": "crd-sources: {urls: [{url: https://h/a, sha256: " + sha256Of([]byte(strict)) + "}]}\n"}, nil, "a.yaml",
			`"severity":1,"code":"UnknownField"`},
		"missing CRD sources": {map[string]string{"a.yaml": thing, ".crdeval.yaml": "crd-sources: {urls: [{url: https://h/a}]}\n"},
			nil, "a.yaml", "of https://h/a does not exist: run crdeval crds pull"},
		"missing CRDs": {map[string]string{"a.yaml": thing}, []string{"--crds=ROOT/missing.yaml"}, "a.yaml",
			"missing.yaml are unknown: no such file"},
		"a Helm template": {map[string]string{"crd.yaml": strict, "chart/Chart.yaml": "name: a\n",
			"chart/templates/a.yaml": thing}, nil, "chart/templates/a.yaml", ""},
		"a kustomize patch": {map[string]string{"crd.yaml": strict, "kustomization.yaml": "patches: [{path: a.yaml}]\n",
			"a.yaml": thing}, nil, "a.yaml", ""},
		"--exclude": {map[string]string{"crd.yaml": strict, "a.yaml": thing}, []string{"--exclude=a.*"}, "a.yaml", ""},
		"--skip-kind": {map[string]string{"crd.yaml": strict, "a.yaml": other}, []string{"--skip-kind=Bad.example.com"},
			"a.yaml", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range tc.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			uri := "file://" + filepath.ToSlash(root)
			text, err := json.Marshal(tc.files[tc.file])
			if err != nil {
				t.Fatal(err)
			}
			var in bytes.Buffer
			for _, m := range []string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"rootUri":"` + uri + `","capabilities":{}}}`,
				`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"` + uri + "/" + tc.file +
					`","languageId":"yaml","version":1,"text":` + string(text) + `}}}`,
				`{"jsonrpc":"2.0","id":2,"method":"textDocument/documentSymbol","params":{"textDocument":{"uri":"` + uri + "/" +
					tc.file + `"}}}`,
			} {
				fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(m), m)
			}
			args := []string{"lsp", "--stdio"}
			for _, a := range tc.args {
				args = append(args, strings.ReplaceAll(a, "ROOT", root))
			}
			out := runLSP(t, &in, args)
			if i := strings.Index(out, `"diagnostics":`); i < 0 || tc.want == "" &&
				!strings.HasPrefix(out[i:], `"diagnostics":[]`) || !strings.Contains(out, tc.want) {
				t.Errorf("%s", out)
			}
		})
	}
}

// runLSP runs the command. After the first diagnostics, the client ends the server.
func runLSP(t *testing.T, begin io.Reader, args []string) string {
	t.Helper()
	out := &lspOutput{published: make(chan struct{})}
	end := func() io.Reader {
		var b bytes.Buffer
		for _, m := range []string{`{"jsonrpc":"2.0","id":3,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`} {
			fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(m), m)
		}
		return &b
	}()
	var log bytes.Buffer
	in := io.MultiReader(begin, &afterwards{out.published, end})
	if code := run(t.Context(), args, environment{stdin: in, stdout: out, stderr: &log}); code != 0 || log.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, &log)
	}
	return out.text.String()
}

// lspOutput is the output of a server. It closes published with the first diagnostics.
type lspOutput struct {
	text      bytes.Buffer
	published chan struct{}
	seen      bool
}

func (o *lspOutput) Write(p []byte) (int, error) {
	o.text.Write(p)
	if !o.seen && strings.Contains(string(p), "publishDiagnostics") {
		o.seen = true
		close(o.published)
	}
	return len(p), nil
}

// afterwards reads from a reader once a channel is closed.
type afterwards struct {
	ready <-chan struct{}
	io.Reader
}

func (a *afterwards) Read(p []byte) (int, error) {
	<-a.ready
	return a.Reader.Read(p)
}

func sha256Of(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
