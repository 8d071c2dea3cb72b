package directory

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quietPeriod and poll are short options of the loaders under test.
const (
	quietPeriod = 20 * time.Millisecond
	poll        = 300 * time.Millisecond
)

// lines is a log for concurrent use.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// count returns the number of lines that have all of the words.
func (l *lines) count(words ...string) (n int) {
next:
	for line := range strings.Lines(l.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		n++
	}
	return n
}

// backend is a registry that counts calls and that can fail.
type backend struct {
	*registry.Registry
	mu      sync.Mutex
	fail    error // of every call
	handed  int   // manifests in calls of RegisterAll
	deleted int
}

func (b *backend) RegisterAll(ctx context.Context, catalog string, list []registry.Submission) ([]registry.Submitted, string, error) {
	b.mu.Lock()
	b.handed += len(list)
	err := b.fail
	b.mu.Unlock()
	if err != nil {
		out := make([]registry.Submitted, len(list))
		for i := range out {
			out[i].Err = err
		}
		return out, "", nil
	}
	return b.Registry.RegisterAll(ctx, catalog, list)
}

func (b *backend) Delete(ctx context.Context, catalog, name string, p registry.Precondition) (string, error) {
	b.mu.Lock()
	err := b.fail
	if err == nil {
		b.deleted++
	}
	b.mu.Unlock()
	if err != nil {
		return "", err
	}
	return b.Registry.Delete(ctx, catalog, name, p)
}

func (b *backend) breakDown(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

func (b *backend) counts() (handed, deleted int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.handed, b.deleted
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 64 << 20, Weigh: (*engine.Definition).Size})
	t.Cleanup(func() { _ = programs.Close(context.Background()) })
	r, err := registry.New(t.Context(), registry.NewMemoryStore(), registry.Options{Programs: programs, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &backend{Registry: r}
}

// watched is a running loader.
type watched struct {
	*Loader
	t       *testing.T
	backend *backend
	log     *lines
}

// watch loads directories into a registry and keeps watching them until the test ends.
func watch(t *testing.T, b *backend, directories ...string) *watched {
	t.Helper()
	w := &watched{t: t, backend: b, log: &lines{}}
	var err error
	w.Loader, err = New(b, Options{
		Directories: directories, Catalog: "default", QuietPeriod: quietPeriod, Poll: poll, MaxFileBytes: 1 << 20,
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	loaded, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); w.Run(ctx, func() { close(loaded) }) }()
	t.Cleanup(func() { cancel(); <-done })
	<-loaded
	return w
}

// names returns the registered plurals with the descriptions in their manifests: "a:1 b:2".
func (w *watched) names() string {
	w.t.Helper()
	page, err := w.backend.CRDs(context.Background(), "default", registry.Page{Size: 1000, WithManifest: true}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, d := range page.CRDs {
		_, text, _ := strings.Cut(string(d.Manifest), `"description":"`)
		text, _, _ = strings.Cut(text, `"`)
		all = append(all, d.Desired.Names.Plural+":"+text)
	}
	return strings.Join(all, " ")
}

// eventually waits until names returns want.
func (w *watched) eventually(want string) {
	w.t.Helper()
	w.until(func() bool { return w.names() == want }, func() string { return fmt.Sprintf("registered %q, want %q", w.names(), want) })
}

func (w *watched) until(done func() bool, state func() string) {
	w.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s\n%s", state(), w.log)
		}
	}
}

// logged waits for n log lines with all of the words. More lines are an error.
func (w *watched) logged(n int, words ...string) {
	w.t.Helper()
	state := func() string { return fmt.Sprintf("%d lines with %q, want %d", w.log.count(words...), words, n) }
	w.until(func() bool { return w.log.count(words...) >= n }, state)
	if w.log.count(words...) > n {
		w.t.Errorf("%s\n%s", state(), w.log)
	}
}

// figures waits until Stats has these numbers.
func (w *watched) figures(files, broken, crds int) {
	w.t.Helper()
	w.until(func() bool { s := w.Stats(); return s.Files == files && s.Broken == broken && s.CRDs == crds }, func() string { return fmt.Sprintf("%+v", w.Stats()) })
}

// stays checks that names returns want for some polls.
func (w *watched) stays(want string) {
	w.t.Helper()
	for deadline := time.Now().Add(2 * poll); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if got := w.names(); got != want {
			w.t.Fatalf("registered %q, want it to stay %q\n%s", got, want, w.log)
		}
	}
}

// crd returns a manifest with a description.
func crd(plural, content string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.directory.example.com}
spec:
  group: directory.example.com
  scope: Namespaced
  names: {plural: %[1]s, kind: K%[1]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, description: %[2]q}
`, plural, content)
}

// rejected returns a manifest that is rejected because of the type on line 13.
func rejected(plural string) string {
	return strings.Replace(crd(plural, "x"), "{type: object, description", "{type: objekt, description", 1)
}

// put replaces a file by renaming another one, so that no reader sees an incomplete file.
func put(t *testing.T, path, content string) {
	t.Helper()
	temporary := filepath.Join(filepath.Dir(path), ".new")
	if err := os.WriteFile(temporary, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	rename(t, temporary, path)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
