package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a client of a server, over pipes. It writes and reads bytes, so that tests cover the framing.
type client struct {
	t      *testing.T
	root   string
	in     *io.PipeWriter
	log    *bytes.Buffer
	ended  chan error
	nextID int

	mu        sync.Mutex
	responses map[string]json.RawMessage // whole messages, by id
	published map[string]publishDiagnosticsParams
	count     int // published
	shown     []string
	requested map[string]string // ids of requests of the server, by method
	params    map[string]string // of these requests
	arrived   *sync.Cond
	texts     map[string]string
	versions  map[string]int32
}

// patience is how long a client waits. Tests do not depend on times otherwise.
const patience = 60 * time.Second

// start starts a server without initializing it.
func start(t *testing.T, root string, o Options) *client {
	t.Helper()
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	c := &client{
		t: t, root: root, in: in, log: &bytes.Buffer{}, ended: make(chan error, 1), responses: map[string]json.RawMessage{},
		published: map[string]publishDiagnosticsParams{}, requested: map[string]string{}, params: map[string]string{},
		texts: map[string]string{}, versions: map[string]int32{},
	}
	c.arrived = sync.NewCond(&c.mu)
	o.Log = c.log
	go func() {
		err := Serve(t.Context(), serverIn, serverOut, o)
		_ = serverOut.Close()
		c.ended <- err
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(out)
	}()
	t.Cleanup(func() {
		_ = in.Close()
		select {
		case <-read:
		case <-time.After(patience):
			t.Error("the server does not end after its input")
		}
	})
	return c
}

// open starts a server for a workspace.
func connect(t *testing.T, root string, o Options) *client {
	t.Helper()
	return connectWith(t, root, o, nil)
}

// connectWith is connect with initialization options.
func connectWith(t *testing.T, root string, o Options, initialization any) *client {
	t.Helper()
	c := start(t, root, o)
	c.call("initialize", map[string]any{"rootUri": uriOf(root), "initializationOptions": initialization,
		"capabilities": map[string]any{"textDocument": map[string]any{"publishDiagnostics": map[string]any{"relatedInformation": true,
			"versionSupport": true}},
		}}, nil)
	c.notify("initialized", map[string]any{})
	return c
}

func (c *client) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		header, err := r.ReadString('\n')
		if err != nil {
			return
		}
		length, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(header, "Content-Length: ")))
		if err != nil {
			c.t.Errorf("header %q", header)
			return
		}
		_, _ = r.ReadString('\n')
		body := make([]byte, length)
		if _, err := io.ReadFull(r, body); err != nil {
			c.t.Error(err)
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(body, &m); err != nil {
			c.t.Error(err)
			return
		}
		c.mu.Lock()
		switch m.Method {
		case "":
			c.responses[string(m.ID)] = body
		case "textDocument/publishDiagnostics":
			var p publishDiagnosticsParams
			_ = json.Unmarshal(m.Params, &p)
			c.published[p.URI] = p
			c.count++
		case "window/showMessage":
			var p messageParams
			_ = json.Unmarshal(m.Params, &p)
			c.shown = append(c.shown, p.Message)
		default:
			c.requested[m.Method], c.params[m.Method] = string(m.ID), string(m.Params)
		}
		c.arrived.Broadcast()
		c.mu.Unlock()
	}
}

// wait waits until a condition holds.
func (c *client) wait(what string, holds func() bool) {
	c.t.Helper()
	timer := time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.arrived.Broadcast()
	})
	defer timer.Stop()
	begin := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !holds() {
		if time.Since(begin) >= patience {
			c.t.Fatalf("no %s", what)
		}
		c.arrived.Wait()
	}
}

// send writes a message as bytes.
func (c *client) send(body string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(body))
}

// request sends a request and returns its id.
func (c *client) request(method string, params any) string {
	c.t.Helper()
	c.nextID++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.nextID, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(body))
	return strconv.Itoa(c.nextID)
}

// response waits for the response to a request. It returns the code of its error.
func (c *client) response(id string, result any) (code int64, message string) {
	c.t.Helper()
	c.wait("response "+id, func() bool { return c.responses[id] != nil })
	var m struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int64  `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	c.mu.Lock()
	err := json.Unmarshal(c.responses[id], &m)
	delete(c.responses, id)
	c.mu.Unlock()
	if err != nil {
		c.t.Fatal(err)
	}
	if m.Error != nil {
		return m.Error.Code, m.Error.Message
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			c.t.Fatalf("%v: %s", err, m.Result)
		}
	}
	return 0, ""
}

// call is a request that must succeed.
func (c *client) call(method string, params, result any) {
	c.t.Helper()
	if code, message := c.response(c.request(method, params), result); code != 0 {
		c.t.Fatalf("%s: %d %s", method, code, message)
	}
}

func (c *client) uri(name string) string { return uriOf(filepath.Join(c.root, name)) }

// open opens a file with its content on disk, or with a text.
func (c *client) open(name string, text ...string) {
	c.t.Helper()
	if len(text) == 0 {
		content, err := os.ReadFile(filepath.Join(c.root, name))
		if err != nil {
			c.t.Fatal(err)
		}
		text = []string{string(content)}
	}
	c.texts[name] = text[0]
	c.versions[name] = 1
	c.notify("textDocument/didOpen", map[string]any{"textDocument": textDocument{
		URI: c.uri(name), LanguageID: "yaml", Version: 1, Text: text[0],
	}})
}

// change replaces the first occurrence of a text in a file.
func (c *client) change(name, old, text string) {
	c.t.Helper()
	before, after, found := strings.Cut(c.texts[name], old)
	if !found {
		c.t.Fatalf("%s does not contain %q", name, old)
	}
	lines := newLineIndex([]byte(c.texts[name]))
	r := lines.rangeOf(len(before), len(before)+len(old))
	c.texts[name] = before + text + after
	c.versions[name]++
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": c.uri(name), "version": c.versions[name]},
		"contentChanges": []ContentChange{{&r, text}},
	})
}

// diagnostics waits for the diagnostics of the last version of a file.
func (c *client) diagnostics(name string) (list []Diagnostic) {
	c.t.Helper()
	c.wait("diagnostics of "+name, func() bool {
		p, ok := c.published[c.uri(name)]
		list = p.Diagnostics
		return ok && p.Version != nil && *p.Version == c.versions[name]
	})
	return list
}

// end shuts the server down and returns the result of Serve.
func (c *client) end() error {
	c.t.Helper()
	c.call("shutdown", nil, nil)
	c.notify("exit", nil)
	return c.result()
}

func (c *client) result() error {
	c.t.Helper()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(patience):
		c.t.Fatal("the server does not end")
		return errors.New("unreachable")
	}
}
