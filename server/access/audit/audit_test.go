package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// fake is a registry whose calls have fixed results.
type fake struct {
	api.Registry
	err error
}

func (f fake) RegisterAll(context.Context, string, []registry.Submission) ([]registry.Submitted, string, error) {
	c := &registry.CRD{Name: "a.example", Revision: "r1", Etag: "e1"}
	return []registry.Submitted{
		{Registration: registry.Registration{Outcome: registry.Created, CRD: c}}, {Registration: registry.Registration{Outcome: registry.Unchanged, CRD: c}},
		{Err: errors.New("the second is invalid")},
		{Registration: registry.Registration{Report: registry.NewReport(&engine.Report{Name: "b.example"})}, Err: errors.New("a quota")},
	}, "", f.err
}

func (f fake) SetConversion(context.Context, string, string, registry.ConversionChange) (registry.Registration, error) {
	return registry.Registration{Outcome: registry.Updated}, f.err
}

func (f fake) SetStoredVersions(context.Context, string, string, []string, string) (registry.Registration, error) {
	return registry.Registration{Outcome: registry.Unchanged}, f.err
}

func (f fake) Delete(context.Context, string, string, registry.Precondition) (string, error) {
	return "", f.err
}

func entries(t *testing.T, text []byte) (all []Entry) {
	t.Helper()
	for line := range bytes.Lines(text) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

// logTo returns a log with a fixed time, and a function that closes it and returns its lines.
func logTo(t *testing.T) (*Log, func() []Entry) {
	t.Helper()
	var out bytes.Buffer
	l := newLog(&out, slog.New(slog.DiscardHandler))
	now := time.Unix(1, 0)
	l.now = func() time.Time { return now }
	return l, func() []Entry {
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "secret") {
			t.Error("a token is in the log")
		}
		return entries(t, out.Bytes())
	}
}

func TestChanges(t *testing.T) {
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}})
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer secret"))
	ctx = call.With(ctx, &call.Call{
		RequestID: strings.Repeat("i", 200), Identity: access.Identity{Name: "alice", Groups: []string{"devs"}, Source: access.FromToken},
	})
	log, lines := logTo(t)
	r := Watch(fake{}, log)
	_, _, _ = r.RegisterAll(ctx, "default", nil)
	_, _ = r.SetConversion(ctx, "default", "a.example", registry.ConversionChange{})
	_, _ = r.SetConversion(ctx, "default", "a.example", registry.ConversionChange{ValidateOnly: true})
	_, _ = Watch(fake{err: errors.New("no such CRD")}, log).Delete(Server(t.Context(), "--crds"), "default", "a.example", registry.Precondition{})
	got := lines()
	want := []Entry{
		{Action: "RegisterCrd", CRD: "a.example", Outcome: "CREATED", Revision: "r1", Etag: "e1"},
		{Action: "RegisterCrd", Outcome: OutcomeFailed, Error: "the second is invalid"},
		{Action: "RegisterCrd", CRD: "b.example", Outcome: OutcomeFailed, Error: "a quota"},
		{Action: "SetConversion", CRD: "a.example", Outcome: "UPDATED"},
		{Action: "DeleteCrd", CRD: "a.example", Outcome: OutcomeFailed, Error: "no such CRD"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, e := range got {
		user, address := "alice", "192.0.2.1:7"
		if i == 4 {
			user, address = "--crds", ""
		}
		w := want[i]
		if e.Event != EventChange || e.User != user || e.Address != address || e.Catalog != "default" || e.Action != w.Action || e.CRD != w.CRD ||
			e.Outcome != w.Outcome || e.Revision != w.Revision || e.Etag != w.Etag || e.Error != w.Error || len(e.Request) > 150 {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

// TestDeniedRate: clients without permissions cannot fill the disk.
func TestDeniedRate(t *testing.T) {
	log, lines := logTo(t)
	now := time.Unix(1, 0)
	log.now = func() time.Time { return now }
	for range 10 * failureBurst {
		log.Denied(t.Context(), "/x/Y", "", &access.Error{Unauthenticated: true, Message: "no token"})
	}
	_, _ = Watch(fake{}, log).Delete(t.Context(), "default", "a.example", registry.Precondition{}) // always logged
	now = now.Add(time.Second / 2)
	for range 100 {
		log.Denied(t.Context(), "/x/Y", "default", &access.Error{Message: "no role"})
	}
	got := lines()
	if len(got) != failureBurst+1+failuresPerSecond/2 {
		t.Fatalf("%d lines", len(got))
	}
	for i, e := range got {
		want := Entry{Event: EventDenied, Outcome: "UNAUTHENTICATED"}
		switch {
		case i == failureBurst:
			want = Entry{Event: EventChange, Outcome: "DELETED", Dropped: 9 * failureBurst}
		case i > failureBurst:
			want.Outcome = "PERMISSION_DENIED"
		}
		if e.Event != want.Event || e.Outcome != want.Outcome || e.Dropped != want.Dropped {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

// TestFailedChangesRate checks that changes that fail or change nothing cannot fill the disk, and that they do not drop
// lines of other callers or successful changes.
func TestFailedChangesRate(t *testing.T) {
	log, lines := logTo(t)
	as := func(name string) context.Context {
		return call.With(t.Context(), &call.Call{Identity: access.Identity{Name: name}})
	}
	failing, working := Watch(fake{err: errors.New("no such CRD")}, log), Watch(fake{}, log)
	for range 5 * failureBurst {
		_, _ = failing.Delete(as("mallory"), "default", "a.example", registry.Precondition{})
		_, _ = working.SetStoredVersions(as("mallory"), "default", "a.example", []string{"v1"}, "") // unchanged
	}
	for range 2 * failureBurst {
		_, _ = working.Delete(as("mallory"), "default", "a.example", registry.Precondition{})
	}
	_, _ = failing.Delete(as("alice"), "default", "a.example", registry.Precondition{})
	for i := range 2 * maxCallers {
		_, _ = failing.Delete(as(fmt.Sprint(i)), "default", "a.example", registry.Precondition{})
	}
	if n := len(log.failures); n > maxCallers+1 {
		t.Errorf("the rates of %d callers", n)
	}
	users, dropped := map[string]int{}, 0
	for _, e := range lines() {
		users[e.User+" "+e.Outcome]++
		dropped = max(dropped, e.Dropped)
	}
	if users["mallory FAILED"] != failureBurst || users["mallory DELETED"] != 2*failureBurst || users["alice FAILED"] != 1 ||
		users["mallory UPDATED"] != 0 || dropped != 4*failureBurst {
		t.Errorf("%d and %d lines of mallory, %d of alice; %d dropped", users["mallory FAILED"], users["mallory DELETED"], users["alice FAILED"], dropped)
	}
}

// TestLongTexts checks that a line has a bounded length, whatever a caller sends.
func TestLongTexts(t *testing.T) {
	log, lines := logTo(t)
	long := strings.Repeat("x", 1<<20)
	ctx := call.With(t.Context(), &call.Call{RequestID: long})
	log.Denied(ctx, long, long, errors.New(long))
	_, _ = Watch(fake{err: errors.New(long)}, log).Delete(ctx, long, long, registry.Precondition{Etag: long})
	for i, e := range lines() {
		if text, _ := json.Marshal(e); len(text) > 4096 || !strings.Contains(e.Catalog, "(1048576 bytes)") {
			t.Errorf("%d: %d bytes, %.500s", i, len(text), text)
		}
	}
}

// stuck is a writer whose first write hangs until it is released.
type stuck struct {
	bytes.Buffer
	release <-chan struct{}
}

func (s *stuck) Write(text []byte) (int, error) {
	<-s.release
	return s.Buffer.Write(text)
}

// TestHungDisk: while the disk does not answer, a denied call does not wait, a change waits for maxWait, and the lines that
// do not fit in the queue are lost and counted.
func TestHungDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		out := &stuck{release: release}
		log := newLog(out, slog.New(slog.DiscardHandler))
		start := time.Now()
		log.Denied(t.Context(), "/x/Y", "", errors.New("no token"))
		if d := time.Since(start); d != 0 {
			t.Errorf("a denied call waited for %v", d)
		}
		r := Watch(fake{}, log)
		var changes sync.WaitGroup
		changes.Go(func() { _, _, _ = r.RegisterAll(t.Context(), "default", nil) }) // three lines
		for range maxQueued + 10 - 3 {
			changes.Go(func() { _, _ = r.Delete(t.Context(), "default", "a.example", registry.Precondition{}) })
		}
		changes.Wait()
		if d := time.Since(start); d != maxWait {
			t.Errorf("changes waited for %v", d)
		}
		if s := log.Stats(); s.Written != 0 || s.Lost != 10 || s.Queued != maxQueued {
			t.Errorf("%+v", s)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := log.Close(ended); err == nil || !strings.Contains(err.Error(), "1025 lines") {
			t.Errorf("closed while the disk hangs: %v", err)
		}
		close(release)
		if err := log.Close(t.Context()); err != nil || len(entries(t, out.Bytes())) != maxQueued+1 {
			t.Errorf("%v, %+v", err, log.Stats())
		}
	})
}

// full is a writer that fails after some bytes.
type full struct {
	bytes.Buffer
	free int
}

func (f *full) Write(text []byte) (int, error) {
	n, _ := f.Buffer.Write(text[:min(len(text), f.free)])
	if f.free -= n; n < len(text) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestFullDisk: a change succeeds although its line cannot be written. The first line after that is a line by itself, and
// has the number of the lost ones.
func TestFullDisk(t *testing.T) {
	var logged bytes.Buffer
	out := &full{free: 250}
	log := newLog(out, slog.New(slog.NewTextHandler(&logged, nil)))
	r := Watch(fake{}, log)
	for range 4 {
		if _, err := r.Delete(t.Context(), "default", "a.example", registry.Precondition{}); err != nil {
			t.Error(err)
		}
	}
	out.free = 1 << 20 // no write is in progress
	_, _ = r.Delete(t.Context(), "default", "a.example", registry.Precondition{})
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
	var last Entry
	if err := json.Unmarshal(all[len(all)-1], &last); err != nil || len(all) != 3 || last.Dropped != 3 || log.Stats() != (Stats{Written: 2, Lost: 3}) {
		t.Errorf("%v, %+v, %+v\n%s", err, last, log.Stats(), out.Bytes())
	}
	for _, want := range []string{"cannot write the audit log", "no space left", "written again"} {
		if strings.Count(logged.String(), want) != 1 {
			t.Errorf("%q is not in the log once:\n%s", want, &logged)
		}
	}
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close(t.Context()) }()
	r := Watch(fake{}, log)
	for i, rotate := range []func() error{
		func() error { return nil }, func() error { return os.Rename(path, path+".1") }, func() error { return os.Remove(path) },
	} {
		if err := rotate(); err != nil {
			t.Fatal(err)
		}
		log.Reopen()
		_, _ = r.Delete(t.Context(), "default", "a.example", registry.Precondition{})
		text, err := os.ReadFile(path)
		if err != nil || len(entries(t, text)) != 1 {
			t.Errorf("%d: %s, %v", i, text, err)
		}
	}
	if _, err := Open(t.TempDir(), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a directory is a log")
	}
}
