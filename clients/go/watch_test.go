package crdeval_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/app"
)

// named returns a CRD with the given name and a description.
func named(plural, description string) []byte {
	return []byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"` + plural + `.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"` + plural +
		`","kind":"` + strings.ToUpper(plural[:1]) + plural[1:] + `"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","description":"` + description + `"}}}]}}`)
}

// replaceable is a server that can be stopped and restarted at the same address.
type replaceable struct {
	t       *testing.T
	address string
	flags   []string
	stop    func()
}

func start(t *testing.T, flags ...string) *replaceable {
	t.Helper()
	dir, err := os.MkdirTemp("", "crdeval-") // socket paths must be short; another process could take a port
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &replaceable{t: t, address: "unix://" + filepath.Join(dir, "s"), flags: flags}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *replaceable) start() {
	r.t.Helper()
	c, err := app.Defaults(append([]string{"--grpc-address=" + r.address, "--http-address=off"}, r.flags...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	a, err := app.Start(context.Background(), c, app.Build{}, slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
		r.stop = func() {}
	}
}

// events reads the events of a watch one by one.
type events struct {
	t    *testing.T
	next func() (*crdevalv1.WatchCrdsResponse, error, bool)
}

func watching(ctx context.Context, t *testing.T, c *crdeval.Client, o crdeval.WatchOptions) *events {
	t.Helper()
	next, stop := iter.Pull2(c.Watch(ctx, o))
	t.Cleanup(stop)
	return &events{t, next}
}

// expect reads the given number of events and compares them.
func (e *events) expect(want ...string) (last string) {
	e.t.Helper()
	for _, w := range want {
		event, err, ok := e.next()
		if !ok || err != nil {
			e.t.Fatalf("want %s, got %v, %v", w, err, ok)
		}
		got := strings.TrimPrefix(event.GetType().String(), "WATCH_EVENT_TYPE_")
		if event.GetCrd() != nil {
			got += " " + strings.TrimSuffix(event.GetCrd().GetName(), ".example.com")
		}
		if got != w {
			e.t.Fatalf("want %s, got %s", w, got)
		}
		last = event.GetToken()
	}
	return last
}

func registerAll(t *testing.T, c *crdeval.Client, manifests ...[]byte) {
	t.Helper()
	all, err := c.RegisterAll(t.Context(), manifests...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// TestWatch checks the initial events, the changes, and the changes since a token.
func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, _ := dial(t, serve(t))
	registerAll(t, c, named("a", ""), named("b", ""))
	w := watching(ctx, t, c, crdeval.WatchOptions{})
	token := w.expect("ADDED a", "ADDED b", "SYNCED")
	registerAll(t, c, named("c", ""), named("a", "new"), named("b", ""))
	if err := c.DeleteCRD(ctx, "b.example.com"); err != nil {
		t.Fatal(err)
	}
	w.expect("ADDED c", "MODIFIED a", "DELETED b")
	later := watching(ctx, t, c, crdeval.WatchOptions{From: token, View: crdevalv1.CrdView_CRD_VIEW_FULL})
	later.expect("ADDED c", "MODIFIED a", "DELETED b", "SYNCED")
	registerAll(t, c, named("d", "in full"))
	event, err, _ := later.next()
	if err != nil || !strings.Contains(string(event.GetCrd().GetManifest().GetJson()), "in full") || !strings.Contains(string(event.GetCrd().GetStatus().GetJson().GetJson()), "acceptedNames") {
		t.Errorf("in full: %v, %v", event, err)
	}
	cancel()
	if event, err, ok := later.next(); event != nil || !errors.Is(err, context.Canceled) || !ok {
		t.Errorf("after its end: %v, %v, %v", event, err, ok)
	}
	if _, _, ok := later.next(); ok {
		t.Error("the watch continues after its error")
	}
}

// TestWatchErrors checks that permanent errors end a watch.
func TestWatchErrors(t *testing.T) {
	address := serve(t)
	c, _ := dial(t, address, crdeval.WithCatalog("none"))
	for event, err := range c.Watch(t.Context(), crdeval.WatchOptions{}) {
		if event != nil || status.Code(err) != codes.NotFound {
			t.Errorf("no such catalog: %v, %v", event, err)
		}
	}
	c, _ = dial(t, address)
	for event, err := range c.Watch(t.Context(), crdeval.WatchOptions{From: "no token"}) {
		if event != nil || status.Code(err) != codes.InvalidArgument {
			t.Errorf("no token: %v, %v", event, err)
		}
	}
	registerAll(t, c, named("a", ""))
	n := 0
	for range c.Watch(t.Context(), crdeval.WatchOptions{}) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d events of a loop that was left", n)
	}
}

// TestWatchResumes checks that open watches do not delay the stop of a server until its drain timeout, which is longer
// than the time limit of the test. The watches resume after the restart, and every event comes exactly once.
func TestWatchResumes(t *testing.T) {
	ctx := t.Context()
	server := start(t, "--data-dir="+t.TempDir(), "--drain-timeout=24h")
	c, _ := dial(t, server.address)
	other, _ := dial(t, server.address)
	registerAll(t, other, named("a", ""), named("b", ""))
	w := watching(ctx, t, c, crdeval.WatchOptions{})
	w.expect("ADDED a", "ADDED b", "SYNCED")
	registerAll(t, other, named("a", "new"))
	w.expect("MODIFIED a")
	for i := range 3 {
		server.stop()
		server.start()
		name := fmt.Sprintf("c%d", i)
		registerAll(t, other, named(name, ""))
		rest := []string{"SYNCED", "ADDED " + name}
		for range 2 { // the order of the two is not defined
			event, err, _ := w.next()
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(event.GetType().String(), "WATCH_EVENT_TYPE_")+" "+event.GetCrd().GetName()), ".example.com")
			at := slices.Index(rest, got)
			if at < 0 {
				t.Fatalf("got %s, want one of %v", got, rest)
			}
			rest = slices.Delete(rest, at, at+1)
		}
	}
}

// TestWatchListsAgain checks that a watch reads all CRDs again if the server does not know its token, and yields the
// difference.
func TestWatchListsAgain(t *testing.T) {
	ctx := t.Context()
	server := start(t, "--store=memory")
	c, _ := dial(t, server.address)
	registerAll(t, c, named("a", ""), named("b", ""))
	w := watching(ctx, t, c, crdeval.WatchOptions{})
	token := w.expect("ADDED a", "ADDED b", "SYNCED")
	server.stop()
	server.start() // with another, empty store
	fresh, _ := dial(t, server.address)
	registerAll(t, fresh, named("c", ""), named("b", ""))
	var got []string
	for len(got) < 4 {
		event, err, _ := w.next()
		if err != nil {
			t.Fatal(err)
		}
		if event.GetType() != crdevalv1.WatchEventType_WATCH_EVENT_TYPE_SYNCED {
			got = append(got, event.GetType().String()[len("WATCH_EVENT_TYPE_"):]+" "+event.GetCrd().GetName())
		}
		if len(got) == 3 && !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "DELETED b") }) {
			break
		}
	}
	slices.Sort(got)
	if text := strings.Join(got, ", "); text != "ADDED c.example.com, DELETED a.example.com, MODIFIED b.example.com" && text != "ADDED b.example.com, ADDED c.example.com, DELETED a.example.com, DELETED b.example.com" {
		t.Errorf("got %s", text)
	}
	for event, err := range fresh.Watch(ctx, crdeval.WatchOptions{From: token}) {
		if event != nil || status.Code(err) != codes.InvalidArgument {
			t.Errorf("a token of the store before: %v, %v", event, err)
		}
	}
}
