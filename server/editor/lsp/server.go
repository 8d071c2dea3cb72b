package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// Options are the options of a server.
type Options struct {
	// Settings returns the settings of a workspace. root is its first folder, or "". It is called again after a change of
	// a file for which Reload returns true.
	Settings func(root string) (Settings, error)
	// Reload reports whether a change of a file changes the settings or which files are skipped.
	Reload func(file string) bool
	// Version is that of the program.
	Version string
	// Log receives errors of the server. Nothing else is written to it.
	Log io.Writer

	onRequest func(method string) // for tests
}

// A request is answered within requestTimeout, or with an error. A document is evaluated within itemTimeout.
const (
	requestTimeout = 30 * time.Second
	itemTimeout    = 30 * time.Second
)

// Error codes of the protocol.
const (
	codeNotInitialized  = -32002
	codeRequestFailed   = -32803
	codeRequestCanceled = -32800
)

// ErrExit is returned by Serve after the notification exit without a preceding request shutdown.
var ErrExit = errors.New("the client sent exit without shutdown")

// server is the state of a connection.
type server struct {
	options   Options
	log       *log.Logger
	conn      *jsonrpc2.Conn
	workspace folders
	client    clientCapabilities
	readsGit  bool          // the initialization option oldObjects is git
	done      chan error    // the result of Serve
	wake      chan struct{} // the worker has something to do
	loaded    chan struct{} // closed when the workspace was read for the first time

	mu          sync.Mutex
	initialized bool
	shutdown    bool
	roots       []string
	open        map[string]*file // by URI
	changed     map[string]bool  // paths of files that are not open
	reload      bool
	running     map[jsonrpc2.ID]context.CancelFunc
	requests    sync.WaitGroup
	ended       bool // no further requests
	sequence    int
	evaluating  *file // by the worker
	cancel      context.CancelFunc

	publishing sync.Mutex // held from the check whether diagnostics are current until they are sent
}

// file is an open document. text is never modified.
type file struct {
	uri, path string
	version   int32
	sequence  int // increases with each change of any document
	text      []byte
	dirty     bool // its diagnostics are out of date
	results   map[string]*result
	saves     int
	stored    *stored // nil: not read yet, or not used
}

// Serve runs a language server until the client ends it. It returns nil after the requests shutdown and exit, and an
// error if the connection ends in another way.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &server{
		options: o, log: log.New(o.Log, "crdeval lsp: ", 0), done: make(chan error, 1), wake: make(chan struct{}, 1),
		loaded: make(chan struct{}), workspace: folders{bounds: defaultBounds}, open: map[string]*file{}, changed: map[string]bool{},
		running: map[jsonrpc2.ID]context.CancelFunc{},
	}
	messages := &endStream{stream: newStream(in, out), ended: make(chan error, 1)}
	ready := make(chan struct{})
	s.conn = jsonrpc2.NewConn(ctx, messages, handler(func(ctx context.Context, r *jsonrpc2.Request) {
		<-ready
		s.handle(ctx, r)
	}), jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	close(ready)
	worker := make(chan struct{})
	go func() {
		defer close(worker)
		s.work(ctx)
	}()
	var err error
	select {
	case err = <-s.done:
	case err = <-messages.ended:
		if errors.Is(err, io.EOF) {
			err = errors.New("the client closed the connection without the notification exit")
		}
		select {
		case err = <-s.done: // exit was the last message
		default:
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	stop()
	<-worker
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.requests.Wait() // they write to out
	return err
}

// endStream reports the error that ends the input.
type endStream struct {
	*stream
	ended chan error
}

func (e *endStream) ReadObject(v any) error {
	err := e.stream.ReadObject(v)
	if err != nil {
		e.ended <- err
	}
	return err
}

type handler func(context.Context, *jsonrpc2.Request)

// Handle implements jsonrpc2.Handler.
func (h handler) Handle(ctx context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) { h(ctx, r) }

// handle handles a message. Notifications and the begin of requests are handled in the order of the messages.
func (s *server) handle(ctx context.Context, r *jsonrpc2.Request) {
	defer s.recover(ctx, r)
	if s.options.onRequest != nil {
		s.options.onRequest(r.Method)
	}
	params := json.RawMessage("{}")
	if r.Params != nil {
		params = *r.Params
	}
	s.mu.Lock()
	initialized, shutdown := s.initialized, s.shutdown
	s.mu.Unlock()
	switch {
	case r.Method == "exit":
		err := ErrExit
		if shutdown {
			err = nil
		}
		s.finish(err)
	case r.Method == "$/cancelRequest":
		s.cancelRequest(params)
	case shutdown:
		s.fail(ctx, r, jsonrpc2.CodeInvalidRequest, "the server is shut down")
	case !initialized && r.Method != "initialize":
		s.fail(ctx, r, codeNotInitialized, "the first request must be initialize")
	case initialized && r.Method == "initialize":
		s.fail(ctx, r, jsonrpc2.CodeInvalidRequest, "the server is already initialized")
	case r.Notif:
		if err := s.notified(ctx, r.Method, params); err != nil {
			s.log.Printf("%s: %v", r.Method, err)
		}
	default:
		s.request(ctx, r, params)
	}
}

// finish ends Serve.
func (s *server) finish(err error) {
	select {
	case s.done <- err:
	default:
	}
}

// recover sends an error response for a request that panics. The server continues.
func (s *server) recover(ctx context.Context, r *jsonrpc2.Request) {
	if p := recover(); p != nil {
		s.log.Printf("%s: panic: %v\n%s", r.Method, p, debug.Stack())
		s.fail(ctx, r, jsonrpc2.CodeInternalError, fmt.Sprintf("internal error: %v", p))
	}
}

// fail answers a request with an error.
func (s *server) fail(ctx context.Context, r *jsonrpc2.Request, code int64, message string) {
	if !r.Notif {
		_ = s.conn.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: code, Message: message}) // else the connection is closed
	}
}

// cancelRequest cancels a request.
func (s *server) cancelRequest(params json.RawMessage) {
	var p struct {
		ID jsonrpc2.ID `json:"id"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[p.ID]; cancel != nil {
		cancel()
	}
}

// notified handles a notification.
func (s *server) notified(ctx context.Context, method string, params json.RawMessage) error {
	var p documentParams
	switch method {
	case "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/didSave":
		if err := json.Unmarshal(params, &p); err != nil {
			return err
		}
		return s.changeText(method, &p)
	case "workspace/didChangeWatchedFiles":
		var p watchedFilesParams
		if err := json.Unmarshal(params, &p); err != nil {
			return err
		}
		for _, c := range p.Changes {
			s.fileChanged(pathOf(c.URI))
		}
	case "initialized":
		go s.register(ctx)
	}
	return nil // the protocol ignores unknown notifications
}

// register asks the client to watch the files of the workspace.
func (s *server) register(ctx context.Context) {
	if !s.client.Workspace.DidChangeWatchedFiles.DynamicRegistration {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	watch := func(glob string) map[string]any { return map[string]any{"globPattern": glob} }
	deleted := map[string]any{"globPattern": "**/*", "kind": 4} // clients report a deleted directory without its files
	err := s.conn.Call(ctx, "client/registerCapability", map[string]any{"registrations": []any{map[string]any{
		"id": "crdeval-files", "method": "workspace/didChangeWatchedFiles", "registerOptions": map[string]any{
			"watchers": []any{watch("**/*.yaml"), watch("**/*.yml"), watch("**/*.json"), watch("**/Kustomization"),
				deleted},
		},
	}}}, nil)
	if err != nil && ctx.Err() == nil {
		s.log.Printf("client/registerCapability: %v", err)
	}
}

// changeText updates an open document.
func (s *server) changeText(method string, p *documentParams) error {
	uri := p.TextDocument.URI
	s.mu.Lock()
	f := s.open[uri]
	if f == nil && method != "textDocument/didOpen" {
		s.mu.Unlock()
		return fmt.Errorf("%q is not open", uri)
	}
	path := pathOf(uri)
	s.sequence++
	switch method {
	case "textDocument/didOpen":
		f = &file{uri: uri, path: path, version: p.TextDocument.Version, text: []byte(p.TextDocument.Text), dirty: true}
		s.open[uri] = f
	case "textDocument/didChange":
		f.text, f.version, f.dirty = apply(f.text, p.ContentChanges), p.TextDocument.Version, true
		if s.evaluating == f {
			s.cancel()
		}
	case "textDocument/didSave":
		f.saves++
		f.stored = nil
	case "textDocument/didClose":
		delete(s.open, uri)
		s.changed[path] = true
	}
	f.sequence = s.sequence
	s.mu.Unlock()
	switch method {
	case "textDocument/didClose":
		s.publishing.Lock()
		s.publish(f, f.version, nil)
		s.publishing.Unlock()
	case "textDocument/didSave":
		s.fileChanged(path)
	}
	s.notify()
	return nil
}

// fileChanged notes that a file may have changed on disk.
func (s *server) fileChanged(path string) {
	s.mu.Lock()
	s.changed[path] = true
	if s.options.Reload != nil && s.options.Reload(path) {
		s.reload = true
	}
	s.mu.Unlock()
	s.notify()
}

func (s *server) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// request answers a request. Most are answered in a goroutine, for the text of the document when they arrived.
func (s *server) request(ctx context.Context, r *jsonrpc2.Request, params json.RawMessage) {
	if r.Method == "initialize" || r.Method == "shutdown" {
		var result any
		var err error
		if r.Method == "initialize" {
			result, err = s.initialize(params)
		} else {
			s.mu.Lock()
			s.shutdown = true
			s.mu.Unlock()
		}
		s.reply(ctx, r, result, err)
		return
	}
	answer := map[string]func(context.Context, *file, *documentParams) (any, error){
		"textDocument/hover": s.hover, "textDocument/completion": s.completion, "textDocument/codeAction": s.codeActions,
		"textDocument/documentSymbol": s.symbols,
	}[r.Method]
	if answer == nil {
		s.fail(ctx, r, jsonrpc2.CodeMethodNotFound, fmt.Sprintf("the server has no method %q", r.Method))
		return
	}
	var p documentParams
	if err := json.Unmarshal(params, &p); err != nil {
		s.fail(ctx, r, jsonrpc2.CodeInvalidParams, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	var f *file
	if of := s.open[p.TextDocument.URI]; of != nil {
		snapshot := *of
		f = &snapshot
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	s.running[r.ID] = cancel
	s.requests.Go(func() {
		defer func() {
			cancel()
			s.mu.Lock()
			delete(s.running, r.ID)
			s.mu.Unlock()
		}()
		defer s.recover(context.WithoutCancel(ctx), r)
		var result any
		err := fmt.Errorf("%q is not open", p.TextDocument.URI)
		if f != nil {
			select {
			case <-s.loaded:
				result, err = answer(ctx, f, &p)
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		s.reply(context.WithoutCancel(ctx), r, result, err)
	})
}

func (s *server) reply(ctx context.Context, r *jsonrpc2.Request, result any, err error) {
	switch {
	case errors.Is(err, context.Canceled):
		s.fail(ctx, r, codeRequestCanceled, "the request was cancelled")
	case err != nil:
		s.fail(ctx, r, codeRequestFailed, err.Error())
	default:
		_ = s.conn.Reply(ctx, r.ID, result) // else the connection is closed
	}
}

// initialize takes the capabilities and the folders of the client.
func (s *server) initialize(params json.RawMessage) (any, error) {
	var p initializeParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	var roots []string
	for _, f := range p.WorkspaceFolders {
		roots = append(roots, pathOf(f.URI))
	}
	if len(roots) == 0 && p.RootURI != "" {
		roots = []string{pathOf(p.RootURI)}
	} else if len(roots) == 0 && p.RootPath != "" {
		roots = []string{p.RootPath}
	}
	var o struct {
		OldObjects string `json:"oldObjects"`
	}
	_ = json.Unmarshal(p.InitializationOptions, &o)
	switch o.OldObjects {
	case "", "none", "git":
		s.readsGit = o.OldObjects == "git"
	default:
		return nil, fmt.Errorf("the initialization option oldObjects is %q: it must be git or none", o.OldObjects)
	}
	s.mu.Lock()
	s.initialized, s.client, s.roots, s.reload = true, p.Capabilities, roots, true
	s.mu.Unlock()
	s.notify()
	const incremental = 2
	return map[string]any{
		"capabilities": map[string]any{
			"positionEncoding": "utf-16",
			"textDocumentSync": map[string]any{"openClose": true, "change": incremental, "save": map[string]any{}},
			"hoverProvider":    true, "documentSymbolProvider": true,
			"completionProvider": map[string]any{"triggerCharacters": []string{":", " ", "\n", "-", "\""}},
			"codeActionProvider": map[string]any{"codeActionKinds": []string{"quickfix"}},
		},
		"serverInfo": map[string]string{"name": "crdeval", "version": s.options.Version},
	}, nil
}

// pathOf returns the path of a file URI. Other URIs stay as they are.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // a drive of Windows
		path = path[1:]
	}
	return filepath.Clean(filepath.FromSlash(path))
}

// uriOf returns the URI of a path.
func uriOf(path string) string {
	if strings.Contains(path, "://") {
		return path
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// work reads files and evaluates open documents until the context ends.
func (s *server) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for ctx.Err() == nil && s.step(ctx) {
		}
	}
}

// step does the next task. It returns false if no task is left.
func (s *server) step(ctx context.Context) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Printf("panic: %v\n%s", p, debug.Stack())
			more = true
		}
	}()
	s.mu.Lock()
	reload, changed := s.reload, s.changed
	s.reload, s.changed = false, map[string]bool{}
	s.mu.Unlock()
	switch {
	case reload:
		s.load(ctx)
	case len(changed) > 0:
		s.reread(ctx, changed)
	default:
		return s.evaluate(ctx)
	}
	return true
}

// load reads the settings and the CRDs of the workspace.
func (s *server) load(ctx context.Context) {
	defer func() {
		select {
		case <-s.loaded:
		default:
			close(s.loaded) // also after a panic: requests wait for it
		}
	}()
	s.mu.Lock()
	roots, root := s.roots, ""
	if len(roots) > 0 {
		root = roots[0]
	}
	open := map[string][]byte{}
	for _, f := range s.open {
		open[f.path] = f.text
		f.dirty, f.results = true, nil // they depend on the settings
	}
	s.mu.Unlock()
	var settings Settings
	var err error
	if s.options.Settings != nil {
		settings, err = s.options.Settings(root)
	}
	if err != nil {
		s.show(err.Error())
	}
	s.workspace.load(ctx, roots, settings, open)
	for _, problem := range s.workspace.takeProblems() {
		s.show(problem)
	}
}

// show shows an error to the user.
func (s *server) show(message string) {
	_ = s.conn.Notify(context.Background(), "window/showMessage",
		messageParams{severityError, message}) // else it is closed
}

// reread reads files again that are not open, and those of deleted directories.
func (s *server) reread(ctx context.Context, changed map[string]bool) {
	dirty := false
	for path := range changed {
		for _, file := range s.workspace.filesAt(path) {
			if s.isOpen(file) {
				dirty = true // it was saved
				continue
			}
			f, err := s.workspace.read(ctx, file)
			if err != nil {
				s.show(err.Error())
				continue
			}
			dirty = s.workspace.update(f) || dirty
		}
	}
	if dirty {
		s.dirtyAll(nil)
	}
}

// isOpen reports whether a file is open.
func (s *server) isOpen(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(slices.Collect(maps.Values(s.open)), func(f *file) bool { return f.path == path })
}

// dirtyAll marks all open documents but one: a CRD has changed.
func (s *server) dirtyAll(but *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.open {
		f.dirty = f.dirty || f != but
	}
}

// evaluate publishes the diagnostics of a document that has changed. It returns false if none has.
func (s *server) evaluate(ctx context.Context) bool {
	s.mu.Lock()
	var f *file
	for _, uri := range slices.Sorted(maps.Keys(s.open)) {
		if of := s.open[uri]; of.dirty && (f == nil || of.sequence > f.sequence) {
			f = of
		}
	}
	if f == nil {
		s.mu.Unlock()
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, itemTimeout)
	defer cancel()
	f.dirty = false
	s.evaluating, s.cancel = f, cancel
	snapshot := *f
	s.mu.Unlock()
	parsed := s.workspace.parse(ctx, f.path, snapshot.text)
	if s.workspace.update(parsed) {
		s.dirtyAll(f)
	}
	list, results := s.diagnose(ctx, &snapshot, parsed)
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.mu.Lock()
	s.evaluating = nil
	f.results = results
	current := s.open[f.uri] == f && f.sequence == snapshot.sequence && !errors.Is(ctx.Err(), context.Canceled)
	s.mu.Unlock()
	if current {
		s.publish(f, snapshot.version, list)
	}
	return true
}

// publish sends the diagnostics of a document. The caller holds publishing.
func (s *server) publish(f *file, version int32, list []Diagnostic) {
	p := publishDiagnosticsParams{URI: f.uri, Diagnostics: list}
	if list == nil {
		p.Diagnostics = []Diagnostic{}
	}
	if s.client.TextDocument.PublishDiagnostics.VersionSupport {
		p.Version = &version
	}
	_ = s.conn.Notify(context.Background(), "textDocument/publishDiagnostics", p) // else the connection is closed
}
