package lsp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}}}}
`

const object = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec:\n  replicas: x\n"

func workspaceWith(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestLifecycle checks the order of messages that the protocol prescribes, and how Serve ends.
func TestLifecycle(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(*client)
		want string // part of the error of Serve; "": none
	}{
		"shutdown and exit": {func(c *client) {
			c.call("initialize", map[string]any{"capabilities": map[string]any{}}, nil)
			c.call("shutdown", nil, nil)
			c.notify("exit", nil)
		}, ""},
		"exit without shutdown": {func(c *client) { c.notify("exit", nil) }, ErrExit.Error()},
		"the input ends":        {func(c *client) { _ = c.in.Close() }, "without the notification exit"},
		"a request before initialize": {func(c *client) {
			expect(c, c.request("textDocument/hover", nil), codeNotInitialized)
			c.notify("exit", nil)
		}, ErrExit.Error()},
		"initialize twice": {func(c *client) {
			c.call("initialize", map[string]any{}, nil)
			expect(c, c.request("initialize", map[string]any{}), jsonrpc2.CodeInvalidRequest)
			c.notify("exit", nil)
		}, ErrExit.Error()},
		"a request after shutdown": {func(c *client) {
			c.call("initialize", map[string]any{}, nil)
			c.call("shutdown", nil, nil)
			expect(c, c.request("textDocument/hover", nil), jsonrpc2.CodeInvalidRequest)
			c.notify("exit", nil)
		}, ""},
		"unknown methods": {func(c *client) {
			c.call("initialize", map[string]any{}, nil)
			expect(c, c.request("workspace/nothing", nil), jsonrpc2.CodeMethodNotFound)
			c.notify("$/nothing", nil)
			c.call("shutdown", nil, nil)
			c.notify("exit", nil)
		}, ""},
		"invalid parameters": {func(c *client) {
			c.call("initialize", map[string]any{}, nil)
			expect(c, c.request("textDocument/hover", []int{1}), jsonrpc2.CodeInvalidParams)
			c.notify("textDocument/didOpen", []int{1})
			c.call("shutdown", nil, nil)
			c.notify("exit", nil)
		}, ""},
		"a file that is not open": {func(c *client) {
			c.call("initialize", map[string]any{}, nil)
			c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": "file:///x"}})
			expect(c, c.request("textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": "file:///x"}}),
				codeRequestFailed)
			c.call("shutdown", nil, nil)
			c.notify("exit", nil)
		}, ""},
		"not JSON": {func(c *client) {
			c.send("{")
			expect(c, "null", jsonrpc2.CodeParseError)
			c.send(`{"jsonrpc": "2.0"}`)
			expect(c, "null", jsonrpc2.CodeInvalidRequest)
			c.send(`[]`)
			expect(c, "null", jsonrpc2.CodeInvalidRequest)
			c.call("initialize", map[string]any{}, nil)
			c.call("shutdown", nil, nil)
			c.notify("exit", nil)
		}, ""},
		"no length":         {func(c *client) { raw(c, "X: 1\r\n\r\n{}") }, "no Content-Length"},
		"a negative length": {func(c *client) { raw(c, "Content-Length: -1\r\n\r\n{}") }, "it must be from 0 to"},
		"a huge length":     {func(c *client) { raw(c, "Content-Length: 99999999999\r\n\r\n{}") }, "it must be from 0 to"},
		"no header":         {func(c *client) { raw(c, "hello\r\n") }, "has no colon"},
		"a long header":     {func(c *client) { raw(c, strings.Repeat("x", maxHeader+1)) }, "more than"},
		"an incomplete message": {func(c *client) {
			_, _ = c.in.Write([]byte("Content-Length: 10\r\n\r\n{}"))
			_ = c.in.Close()
		}, "incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, t.TempDir(), Options{})
			tc.do(c)
			err := c.result()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func raw(c *client, text string) {
	c.t.Helper()
	go func() { _, _ = c.in.Write([]byte(text)) }() // the server may not read all of it
}

func expect(c *client, id string, want int64) {
	c.t.Helper()
	if code, message := c.response(id, nil); code != want {
		c.t.Errorf("error %d %s, want %d", code, message, want)
	}
}

// TestPanic checks that a panic in a request does not end the server.
func TestPanic(t *testing.T) {
	root := workspaceWith(t, map[string]string{"crd.yaml": crd, "a.yaml": object})
	c := connect(t, root, Options{onRequest: func(method string) {
		if method == "test/panic" {
			panic("test")
		}
	}})
	expect(c, c.request("test/panic", nil), jsonrpc2.CodeInternalError)
	c.open("a.yaml")
	if list := c.diagnostics("a.yaml"); len(list) != 1 {
		t.Error(list)
	}
	if err := c.end(); err != nil || !strings.Contains(c.log.String(), "panic: test") {
		t.Errorf("%v, log %q", err, c.log)
	}
}

// TestPanicOfTheWorker checks that a panic in an evaluation does not end the server.
func TestPanicOfTheWorker(t *testing.T) {
	root := workspaceWith(t, map[string]string{"crd.yaml": crd, "a.yaml": object})
	calls := 0
	c := connect(t, root, Options{Settings: func(string) (Settings, error) {
		if calls++; calls == 2 {
			panic("test")
		}
		return Settings{}, nil
	}, Reload: func(file string) bool { return filepath.Base(file) == "settings" }})
	c.open("a.yaml")
	c.diagnostics("a.yaml")
	c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": []any{map[string]any{"uri": c.uri("settings"),
		"type": 2}}})
	c.change("a.yaml", "replicas: x", "replicas: 1")
	if list := c.diagnostics("a.yaml"); len(list) != 0 {
		t.Error(list)
	}
	if err := c.end(); err != nil || !strings.Contains(c.log.String(), "panic: test") {
		t.Errorf("%v, log %q", err, c.log)
	}
}

// TestPanicOfTheFirstLoad checks that requests are answered if the workspace cannot be read.
func TestPanicOfTheFirstLoad(t *testing.T) {
	root := workspaceWith(t, map[string]string{"crd.yaml": crd})
	c := connect(t, root, Options{Settings: func(string) (Settings, error) { panic("test") }})
	c.open("crd.yaml")
	c.call("textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": c.uri("crd.yaml")}}, nil)
	if err := c.end(); err != nil || !strings.Contains(c.log.String(), "panic: test") {
		t.Errorf("%v, log %q", err, c.log)
	}
}

// TestCancel checks that a request that waits is cancelled.
func TestCancel(t *testing.T) {
	root := workspaceWith(t, map[string]string{"crd.yaml": crd, "a.yaml": object})
	loading := make(chan struct{})
	c := connect(t, root, Options{Settings: func(string) (Settings, error) {
		<-loading
		return Settings{}, nil
	}})
	c.open("a.yaml")
	id := c.request("textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": c.uri("a.yaml")}})
	c.notify("$/cancelRequest", map[string]any{"id": 12345})
	c.notify("$/cancelRequest", map[string]any{"id": c.nextID})
	expect(c, id, codeRequestCanceled)
	close(loading)
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// TestContext checks that Serve ends with its context.
func TestContext(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Serve(ctx, in, out, Options{Log: os.Stderr}) }()
	cancel()
	if err := <-done; err == nil {
		t.Error("Serve returns no error")
	}
	_, _ = out.Close(), in.Close()
}

// TestSettings checks which files are skipped, and that errors of files are shown.
func TestSettings(t *testing.T) {
	root := workspaceWith(t, map[string]string{
		"crd.yaml": crd, "templates/a.yaml": object, "a.yaml": object, "b.yaml": "a: {{ .Values.b }}: c\n", "c.yaml": object,
		"parts.yaml": object + "---\n{{ if .Values.b }}: c\n", "plain.json": "{a: // comment\n1}",
	})
	path := repository.PathOf(root)
	filter, err := workspace.NewFilter(repository.FS(), workspace.FilterOptions{
		Root: path, Working: path, Exclude: []string{"templates"}, Templates: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, root, Options{Settings: func(got string) (Settings, error) {
		if got != root {
			t.Errorf("root %q", got)
		}
		return Settings{
			CRDs: []string{filepath.Join(root, "missing.yaml")}, Read: os.ReadFile,
			Filter:   filter,
			SkipKind: func(_, kind string) bool { return kind == "Skipped" },
		}, nil
	}})
	for name, want := range map[string]int{"templates/a.yaml": 0, "a.yaml": 1, "b.yaml": 0, "parts.yaml": 1, "plain.json": 0} {
		c.open(name)
		if list := c.diagnostics(name); len(list) != want {
			t.Errorf("%s: %+v, want %d diagnostics", name, list, want)
		}
	}
	c.open("c.yaml", strings.Replace(object, "CronTab", "Skipped", 1))
	if list := c.diagnostics("c.yaml"); len(list) != 0 {
		t.Error(list)
	}
	c.wait("message", func() bool {
		return slices.ContainsFunc(c.shown, func(text string) bool { return strings.Contains(text, "missing.yaml") })
	})
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// TestClose checks that the diagnostics of a closed document are removed.
func TestClose(t *testing.T) {
	c := connect(t, workspaceWith(t, map[string]string{"crd.yaml": crd, "a.yaml": object}), Options{})
	c.open("a.yaml")
	if list := c.diagnostics("a.yaml"); len(list) != 1 {
		t.Error(list)
	}
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri("a.yaml")}})
	c.wait("empty diagnostics", func() bool { return len(c.published[c.uri("a.yaml")].Diagnostics) == 0 })
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// TestCloseDuringEvaluation checks that no diagnostics of closed documents remain. The documents are closed at different
// moments of their evaluation.
func TestCloseDuringEvaluation(t *testing.T) {
	c := connect(t, workspaceWith(t, map[string]string{"crd.yaml": crd}), Options{})
	text := strings.Repeat(object+"---\n", 50)
	const documents = 200
	var took time.Duration
	for i := range documents {
		name := fmt.Sprintf("%d.yaml", i)
		begin := time.Now()
		c.open(name, text)
		if i < 2 { // the first one also compiles the CRD
			c.diagnostics(name)
			took = time.Since(begin)
		} else {
			time.Sleep(time.Duration(i) * took / documents)
		}
		c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}})
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for uri, p := range c.published {
		if len(p.Diagnostics) > 0 {
			t.Errorf("%s has %d diagnostics", uri, len(p.Diagnostics))
		}
	}
}

// TestWatch checks that the server registers for changes of files.
func TestWatch(t *testing.T) {
	c := start(t, t.TempDir(), Options{})
	c.call("initialize", map[string]any{"capabilities": map[string]any{"workspace": map[string]any{
		"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true},
	}}}, nil)
	c.notify("initialized", map[string]any{})
	c.wait("registration", func() bool { return c.requested["client/registerCapability"] != "" })
	c.send(fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, "result": null}`, c.requested["client/registerCapability"]))
	for _, watcher := range []string{`{"globPattern":"**/*.yaml"}`, `{"globPattern":"**/*","kind":4}`} {
		if params := c.params["client/registerCapability"]; !strings.Contains(params, watcher) {
			t.Errorf("%s lacks %s", params, watcher)
		}
	}
	if err := c.end(); err != nil || c.log.Len() > 0 {
		t.Error(err, c.log)
	}
}

// TestReused checks that only the changed document of a stream is evaluated again.
func TestReused(t *testing.T) {
	var w folders
	w.load(t.Context(), nil, Settings{}, map[string][]byte{"/crd.yaml": []byte(crd)})
	examine := func(text string, old map[string]*result) ([]located, map[string]*result) {
		return w.examine(t.Context(), w.parse(t.Context(), "/a.yaml", []byte(text)), nil, old)
	}
	text := object + "---\n" + strings.Replace(object, "name: a", "name: b", 1)
	_, first := examine(text, nil)
	_, second := examine("# more\n---\n"+strings.Replace(text, "name: b", "name: c", 1), first)
	same := 0
	for key, r := range second {
		if first[key] == r {
			same++
		}
	}
	if len(first) != 2 || len(second) != 2 || same != 1 {
		t.Errorf("%d and %d results, %d reused", len(first), len(second), same)
	}
	_, third := examine("# more\n---\n"+strings.Replace(text, "name: b", "name: d", 1), second)
	same = 0
	for key, r := range third {
		if second[key] == r {
			same++
		}
	}
	if same != 1 {
		t.Errorf("%d results reused, want 1", same)
	}
	w.update(w.parse(t.Context(), "/crd.yaml", []byte(strings.Replace(crd, "integer", "string", 1))))
	list, _ := examine(object, third)
	if len(list) != 1 || len(list[0].findings) != 0 {
		t.Errorf("the result was not computed again: %+v", list)
	}
}

// TestLatency prints the time from didChange to publishDiagnostics for files of 5,000 lines. It does not check times.
func TestLatency(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	for _, tc := range latencyCases() {
		t.Run(tc.name, func(t *testing.T) {
			root := workspaceWith(t, map[string]string{"crd.yaml": latencyCRD(20)})
			c := connect(t, root, Options{})
			c.open(tc.file, tc.text)
			want := len(c.diagnostics(tc.file))
			if want != tc.diagnostics {
				t.Fatalf("%d diagnostics, want %d", want, tc.diagnostics)
			}
			var times []time.Duration
			for i := range 30 {
				begin := time.Now()
				c.change(tc.file, fmt.Sprintf(tc.edit, i), fmt.Sprintf(tc.edit, i+1))
				list := c.diagnostics(tc.file)
				times = append(times, time.Since(begin))
				if len(list) != want {
					t.Fatalf("%d diagnostics, want %d", len(list), want)
				}
			}
			slices.Sort(times)
			t.Logf("%d lines, %d bytes, %d diagnostics: median %v, max %v", strings.Count(tc.text, "\n"), len(tc.text), want,
				times[len(times)/2].Round(100*time.Microsecond), times[len(times)-1].Round(100*time.Microsecond))
			if err := c.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

type latencyCase struct {
	name, file, text, edit string
	diagnostics            int
}

// latencyCases are files of 5,000 lines, with an edit near their end.
func latencyCases() []latencyCase {
	var stream, invalid, list, one, asJSON strings.Builder
	list.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	one.WriteString("apiVersion: load.example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  items:\n")
	asJSON.WriteString("{\n\"apiVersion\": \"load.example.com/v1\",\n\"kind\": \"Thing\",\n\"metadata\": {\"name\": \"a\"},\n\"spec\": {\"items\": [\n")
	item := func(b *strings.Builder, indent string, i, replicas int) {
		fmt.Fprintf(b, "%s- name: item-%d\n%s  replicas: %d\n%s  mode: A\n%s  labels: {a: b, c: d}\n", indent, i, indent,
			replicas, indent, indent)
	}
	for i := range 100 {
		for _, b := range []*strings.Builder{&stream, &invalid} {
			fmt.Fprintf(b, "---\napiVersion: load.example.com/v1\nkind: Thing\nmetadata: {name: a%d}\nspec:\n  items:\n", i)
		}
		fmt.Fprintf(&list, "- apiVersion: load.example.com/v1\n  kind: Thing\n  metadata: {name: a%d}\n  spec:\n    items:\n",
			i)
		for j := range 11 {
			item(&stream, "  ", j, 1)
			item(&invalid, "  ", j, map[bool]int{true: 99, false: 1}[j == 5])
			item(&list, "    ", j, 1)
		}
	}
	for i := range 1248 {
		item(&one, "  ", i, 1)
		fmt.Fprintf(&asJSON, "{\"name\": \"item-%d\",\n\"replicas\": 1,\n\"mode\": \"A\",\n\"labels\": {\"a\": \"b\"}},\n", i)
	}
	for _, b := range []*strings.Builder{&stream, &invalid} {
		b.WriteString("  note: edit 0\n")
	}
	list.WriteString("    note: edit 0\n")
	one.WriteString("  note: edit 0\n")
	asJSON.WriteString("{\"name\": \"last\"}],\n\"note\": \"edit 0\"}}\n")
	const edit = "edit %d"
	return []latencyCase{
		{"stream", "a.yaml", stream.String(), edit, 0},
		{"stream with 100 violations", "a.yaml", invalid.String(), edit, 100},
		{"list", "a.yaml", list.String(), edit, 0},
		{"one object", "a.yaml", one.String(), edit, 0},
		{"one object with a violation", "a.yaml", strings.Replace(one.String(), "replicas: 1", "replicas: 99", 1), edit, 1},
		{"JSON", "a.json", asJSON.String(), edit, 0},
		{"CRD", "crd.yaml", latencyCRD(800) + "# edit 0\n", edit, 0},
	}
}

// latencyCRD returns a CRD with many more fields than the objects use.
func latencyCRD(fields int) string {
	var b strings.Builder
	b.WriteString(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.load.example.com}
spec:
  group: load.example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              note: {type: string, maxLength: 100}
              items:
                type: array
                maxItems: 2000
                items:
                  type: object
                  x-kubernetes-validations:
                  - rule: self.replicas <= 10
                  properties:
                    name: {type: string, maxLength: 100}
                    replicas: {type: integer, default: 1}
                    mode: {type: string, enum: [A, B]}
                    labels: {type: object, additionalProperties: {type: string}}
              fields:
                type: object
                properties:
`)
	for i := range fields {
		fmt.Fprintf(&b, "                  field%d:\n                    type: string\n                    description: Field %d.\n"+
			"                    maxLength: 10\n                    x-kubernetes-validations:\n                    - rule: self.startsWith('a')\n", i, i)
	}
	return b.String()
}
