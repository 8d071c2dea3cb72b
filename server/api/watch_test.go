package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/registry"
)

// watched is a registry whose watches a test conducts.
type watched struct {
	api.Registry
	watch func(ctx context.Context, from string, send func(registry.Event) error) error
}

func (w *watched) Watch(ctx context.Context, catalog, from string, send func(registry.Event) error) error {
	if catalog != "default" {
		return &registry.Error{Reason: registry.CatalogNotFound, Message: "no such catalog"}
	}
	return w.watch(ctx, from, send)
}

// CRD has the manifests of someEvents.
func (w *watched) CRD(_ context.Context, _, name, revision, _ string) (*registry.CRD, error) {
	switch revision {
	case "r1":
		return &registry.CRD{Name: name, Etag: "1", Revision: revision, Manifest: []byte(`{"a":1.0}`), StatusJSON: []byte(`{}`)}, nil
	case "r2":
		return &registry.CRD{Name: name, Etag: "3", Revision: revision, Manifest: []byte(`{"a":2}`), StatusJSON: []byte(`{"of": 3}`)}, nil
	}
	return nil, &registry.Error{Reason: registry.CRDNotFound, Message: "deleted again"}
}

// untilEnd waits for the end of a watch.
func untilEnd(ctx context.Context, _ string, _ func(registry.Event) error) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// startWatched runs the handlers over a registry whose watches are conducted.
func startWatched(t *testing.T, watch func(ctx context.Context, from string, send func(registry.Event) error) error, configure func(*api.Options)) *wire {
	t.Helper()
	return startWith(t, func(r api.Registry) api.Registry { return &watched{r, watch} }, configure)
}

var someEvents = []registry.Event{
	{Type: registry.Added, CRD: &registry.CRD{Name: "a", Etag: "1", Revision: "r1"}},
	{Type: registry.Synced, Token: "t2"},
	{Type: registry.Modified, CRD: &registry.CRD{Name: "a", Etag: "2", Revision: "r2"}, Token: "t3"},
	{Type: registry.Added, CRD: &registry.CRD{Name: "b", Etag: "1", Revision: "r3"}, Token: "t4"},
	{Type: registry.Deleted, CRD: &registry.CRD{Name: "a", Etag: "2", Revision: "r1"}, Token: "t5"},
}

func sendSome(_ context.Context, from string, send func(registry.Event) error) error {
	if from == "old" {
		return &registry.Error{Reason: registry.WatchExpired, Message: "no longer kept"}
	}
	for _, e := range someEvents {
		if err := send(e); err != nil {
			return err
		}
	}
	return &registry.Error{Reason: registry.CatalogNotFound, Message: "deleted meanwhile"}
}

// TestWatchEvents compares the events of a registry with those over gRPC and REST: tokens from SYNCED on, and manifests on request.
func TestWatchEvents(t *testing.T) {
	w := startWatched(t, sendSome, nil)
	for view, want := range map[string]string{
		"":              "ADDED a  - -\nSYNCED  t2 - -\nMODIFIED a t3 - -\nADDED b t4 - -\nDELETED a t5 - -\n",
		"CRD_VIEW_FULL": "ADDED a  {\"a\":1.0} {}\nSYNCED  t2 - -\nMODIFIED a t3 {\"a\":2} -\nADDED b t4 - -\nDELETED a t5 - -\n",
	} {
		var got strings.Builder
		spell := func(e *crdevalv1.WatchCrdsResponse) {
			text := func(d *crdevalv1.Document) string {
				if d == nil {
					return "-"
				}
				return string(d.GetJson())
			}
			fmt.Fprintln(&got, strings.TrimPrefix(e.GetType().String(), "WATCH_EVENT_TYPE_"), e.GetCrd().GetName(), e.GetToken(), text(e.GetCrd().GetManifest()), text(e.GetCrd().GetStatus().GetJson()))
		}
		stream, err := w.registry.WatchCrds(t.Context(), &crdevalv1.WatchCrdsRequest{Catalog: "default", View: crdevalv1.CrdView(crdevalv1.CrdView_value[view])})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			var e *crdevalv1.WatchCrdsResponse
			if e, err = stream.Recv(); err == nil {
				spell(e)
			}
		}
		if got.String() != want || reason(t, status.Convert(err)) != "CATALOG_NOT_FOUND" {
			t.Errorf("gRPC, view %q:\n%s%v", view, got.String(), err)
		}

		got.Reset()
		query := ""
		if view != "" {
			query = "?view=" + view
		}
		a := w.do("GET", "/v1/catalogs/default/crds:watch"+query, "")
		if a.code != http.StatusOK || a.header.Get("Content-Type") != "application/x-ndjson" {
			t.Fatalf("REST: %d %v", a.code, a.header)
		}
		lines := strings.SplitAfter(a.text, "\n")
		for _, line := range lines[:len(lines)-2] {
			e := &crdevalv1.WatchCrdsResponse{}
			answer{http.StatusOK, nil, line}.into(t, e)
			spell(e)
		}
		if got.String() != want {
			t.Errorf("REST, view %q:\n%s", view, got.String())
		}
		var last struct{ Error json.RawMessage }
		if err := json.Unmarshal([]byte(lines[len(lines)-2]), &last); err != nil {
			t.Fatalf("%v: %q", err, lines[len(lines)-2])
		}
		if st := (answer{404, http.Header{"Content-Type": {"application/json"}}, string(last.Error)}).status(t); reason(t, st) != "CATALOG_NOT_FOUND" {
			t.Errorf("the last line is %v", st)
		}
	}
}

// TestWatchRejections: what is wrong before the first event is an ordinary error.
func TestWatchRejections(t *testing.T) {
	w := startWatched(t, sendSome, nil)
	for _, c := range []struct {
		path, reason string
		code         int
	}{
		{"/v1/catalogs/other/crds:watch", "CATALOG_NOT_FOUND", 404},
		{"/v1/catalogs/default/crds:watch?from_token=old", "WATCH_EXPIRED", 410},
		{"/v1/catalogs/default/crds:watch?from_token=old", "WATCH_EXPIRED", 410},
		{"/v1/catalogs/default/crds:watch?since=old", "INVALID_ARGUMENT", 400},
		{"/v1/catalogs/default/crds:watch?catalog=other", "INVALID_ARGUMENT", 400},
		{"/v1/catalogs/default/crds:watch?view=7", "INVALID_ARGUMENT", 400},
		{"/v1/catalogs/default/crds:watch?view=SOME", "INVALID_ARGUMENT", 400},
		{"/v1/catalogs/default/crds:watch?from_token=%zz", "INVALID_ARGUMENT", 400},
	} {
		a := w.do("GET", c.path, "")
		if st := a.status(t); a.code != c.code || reason(t, st) != c.reason {
			t.Errorf("%s: %d %s, want %d %s", c.path, a.code, a.text, c.code, c.reason)
		}
	}
	if a := w.do("POST", "/v1/catalogs/default/crds:watch", ""); a.code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", a.code)
	}
	stream, err := w.registry.WatchCrds(t.Context(), &crdevalv1.WatchCrdsRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if reason(t, status.Convert(err)) != "INVALID_ARGUMENT" {
		t.Errorf("no catalog: %v", err)
	}
}

// TestWatchIsSentAtOnce: over REST an event is there when it happens, not when the stream ends.
func TestWatchIsSentAtOnce(t *testing.T) {
	next := make(chan registry.Event)
	w := startWatched(t, func(ctx context.Context, _ string, send func(registry.Event) error) error {
		for {
			select {
			case e := <-next:
				if err := send(e); err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/v1/catalogs/default/crds:watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { next <- someEvents[1] }()
	resp, err := w.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	for i := range 3 {
		if i > 0 {
			next <- someEvents[i+1]
		}
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, someEvents[i+1].Token) {
			t.Fatalf("line %d: %q, %v", i, line, err)
		}
	}
}

// TestWatchDeadline: a watch ends with its caller's deadline, over REST with the error as its last line.
func TestWatchDeadline(t *testing.T) {
	w := startWatched(t, func(ctx context.Context, from string, send func(registry.Event) error) error {
		if err := send(someEvents[1]); err != nil {
			return err
		}
		return untilEnd(ctx, from, send)
	}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	stream, err := w.registry.WatchCrds(ctx, &crdevalv1.WatchCrdsRequest{Catalog: "default"})
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("gRPC: %v", err)
	}
	for _, timeout := range []string{"100m", "1S", "10S", "100S"} {
		a := w.do("GET", "/v1/catalogs/default/crds:watch", "", "Grpc-Timeout", timeout)
		lines := strings.Split(a.text, "\n")
		if len(lines) == 3 && strings.Contains(lines[1], `{"error":{"code":4,`) && strings.Contains(lines[1], `"DEADLINE"`) {
			return
		}
		t.Logf("REST, within %s: %d %q", timeout, a.code, a.text)
		if a.code != http.StatusGatewayTimeout { // which it is if the machine was away until then
			break
		}
	}
	t.Error("REST: the error is not its last line")
}

// TestWatchSlotsPerCaller: beyond max_watches_per_caller a watch is OVERLOADED, and counted; who ends one makes room. One with manifests counts as ten.
func TestWatchSlotsPerCaller(t *testing.T) {
	var counted atomic.Int64
	w := startWatched(t, func(ctx context.Context, from string, send func(registry.Event) error) error {
		return errors.Join(send(registry.Event{Type: registry.Synced}), untilEnd(ctx, from, send))
	}, func(o *api.Options) {
		o.Limits.MaxWatchesPerCaller, o.Rejected = 11, func() { counted.Add(1) }
	})
	var ends []context.CancelFunc
	open := func(view crdevalv1.CrdView) error {
		ctx, end := context.WithCancel(t.Context())
		ends = append(ends, end)
		stream, err := w.registry.WatchCrds(ctx, &crdevalv1.WatchCrdsRequest{Catalog: "default", View: view})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	if err := errors.Join(open(crdevalv1.CrdView_CRD_VIEW_FULL), open(crdevalv1.CrdView_CRD_VIEW_BASIC)); err != nil {
		t.Fatal(err)
	}
	if err := open(crdevalv1.CrdView_CRD_VIEW_FULL); reason(t, status.Convert(err)) != "OVERLOADED" || !strings.Contains(err.Error(), "max_watches_per_caller") {
		t.Errorf("gRPC: %v", err)
	}
	if a := w.do("GET", "/v1/catalogs/default/crds:watch", ""); a.code != http.StatusServiceUnavailable || reason(t, a.status(t)) != "OVERLOADED" {
		t.Errorf("REST: %d %s", a.code, a.text)
	}
	if n := counted.Load(); n != 2 {
		t.Errorf("%d rejections counted, want 2", n)
	}
	ends[0]()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if err := open(crdevalv1.CrdView_CRD_VIEW_FULL); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestWatchDrain: a server that drains ends its watches with an error that says so, and takes no new ones. None of them counts as rejected.
func TestWatchDrain(t *testing.T) {
	var counted atomic.Int64
	draining := make(chan struct{})
	w := startWatched(t, func(ctx context.Context, from string, send func(registry.Event) error) error {
		if err := send(someEvents[1]); err != nil {
			return err
		}
		return untilEnd(ctx, from, send)
	}, func(o *api.Options) { o.Draining, o.Rejected = draining, func() { counted.Add(1) } })
	stream, err := w.registry.WatchCrds(t.Context(), &crdevalv1.WatchCrdsRequest{Catalog: "default"})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/v1/catalogs/default/crds:watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	close(draining)
	if _, err := stream.Recv(); reason(t, status.Convert(err)) != "OVERLOADED" || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("gRPC: %v", err)
	}
	text, err := io.ReadAll(resp.Body)
	if lines := strings.Split(string(text), "\n"); err != nil || len(lines) != 3 || !strings.Contains(lines[1], "OVERLOADED") {
		t.Errorf("REST: %q, %v", text, err)
	}
	if a := w.do("GET", "/v1/catalogs/default/crds:watch", ""); a.code != http.StatusServiceUnavailable {
		t.Errorf("REST, afterwards: %d %s", a.code, a.text)
	}
	if n := counted.Load(); n != 0 {
		t.Errorf("%d rejections counted, want none", n)
	}
}

// TestWatchOfSilentCallerEnds: a watch ends although a Send waits for a caller that does not read.
func TestWatchOfSilentCallerEnds(t *testing.T) {
	ended := make(chan error, 1)
	event := registry.Event{Type: registry.Modified, CRD: &registry.CRD{Name: strings.Repeat("x", 1<<20)}}
	w := startWatched(t, func(_ context.Context, _ string, send func(registry.Event) error) (err error) {
		for err == nil {
			err = send(event)
		}
		ended <- err
		return err
	}, func(o *api.Options) { o.MaxWatchStall = time.Millisecond })
	stream, err := w.registry.WatchCrds(t.Context(), &crdevalv1.WatchCrdsRequest{Catalog: "default"})
	if err == nil {
		_, err = stream.Header()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the watch did not end")
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if reason(t, status.Convert(err)) != "WATCH_EXPIRED" {
		t.Errorf("got %v", err)
	}
}
