package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/api"
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
	}, "", f.err
}

func (f fake) SetConversion(context.Context, string, string, registry.ConversionChange) (registry.Registration, error) {
	return registry.Registration{Outcome: registry.Updated}, f.err
}

func (f fake) Delete(context.Context, string, string, string) (string, error) { return "", f.err }

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

func newLog(out *bytes.Buffer) *Log {
	now := time.Unix(1, 0)
	return &Log{out: out, log: slog.New(slog.DiscardHandler), tokens: deniedBurst, filled: now, now: func() time.Time { return now }}
}

func TestChanges(t *testing.T) {
	var out bytes.Buffer
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}})
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("x-request-id", strings.Repeat("i", 200), "authorization", "Bearer secret"))
	ctx = access.NewContext(ctx, access.Identity{Name: "alice", Groups: []string{"devs"}, Source: access.FromToken})
	log := newLog(&out)
	r := Watch(fake{}, log)
	_, _, _ = r.RegisterAll(ctx, "default", nil)
	_, _ = r.SetConversion(ctx, "default", "a.example", registry.ConversionChange{})
	_, _ = r.SetConversion(ctx, "default", "a.example", registry.ConversionChange{ValidateOnly: true})
	_, _ = Watch(fake{err: errors.New("no such CRD")}, log).Delete(Server(t.Context(), "--crds"), "default", "a.example", "")
	got := entries(t, out.Bytes())
	want := []Entry{
		{Action: "RegisterCrd", CRD: "a.example", Outcome: "CREATED", Revision: "r1", Etag: "e1"},
		{Action: "RegisterCrd", Outcome: OutcomeFailed, Error: "the second is invalid"},
		{Action: "SetConversion", CRD: "a.example", Outcome: "UPDATED"},
		{Action: "DeleteCrd", CRD: "a.example", Outcome: OutcomeFailed, Error: "no such CRD"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, e := range got {
		user, address := "alice", "192.0.2.1:7"
		if i == 3 {
			user, address = "--crds", ""
		}
		w := want[i]
		if e.Event != EventChange || e.User != user || e.Address != address || e.Catalog != "default" || e.Action != w.Action || e.CRD != w.CRD ||
			e.Outcome != w.Outcome || e.Revision != w.Revision || e.Etag != w.Etag || e.Error != w.Error || len(e.Request) > 128 {
			t.Errorf("%d: %+v", i, e)
		}
	}
	if strings.Contains(out.String(), "secret") {
		t.Error("a token is in the log")
	}
}

// TestDeniedRate: clients without permissions cannot fill the disk.
func TestDeniedRate(t *testing.T) {
	var out bytes.Buffer
	log := newLog(&out)
	now := time.Unix(1, 0)
	log.now = func() time.Time { return now }
	for range 10 * deniedBurst {
		log.Denied(t.Context(), "/x/Y", "", &access.Error{Unauthenticated: true, Message: "no token"})
	}
	if got := entries(t, out.Bytes()); len(got) != deniedBurst || got[0].Outcome != "UNAUTHENTICATED" || got[0].Event != EventDenied {
		t.Errorf("%d lines, first %+v", len(got), got[0])
	}
	_, _ = Watch(fake{}, log).Delete(t.Context(), "default", "a.example", "") // always logged
	out.Reset()
	now = now.Add(time.Second / 2)
	for range 100 {
		log.Denied(t.Context(), "/x/Y", "default", &access.Error{Message: "no role"})
	}
	if got := entries(t, out.Bytes()); len(got) != deniedPerSecond/2 || got[0].Dropped != 9*deniedBurst || got[1].Dropped != 0 || got[0].Outcome != "PERMISSION_DENIED" {
		t.Errorf("%d lines: %+v", len(got), got)
	}
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	r := Watch(fake{}, log)
	for i, rotate := range []func() error{
		func() error { return nil }, func() error { return os.Rename(path, path+".1") }, func() error { return os.Remove(path) },
	} {
		if err := rotate(); err != nil {
			t.Fatal(err)
		}
		_, _ = r.Delete(t.Context(), "default", "a.example", "")
		text, err := os.ReadFile(path)
		if err != nil || len(entries(t, text)) != 1 {
			t.Errorf("%d: %s, %v", i, text, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != fileMode {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := Open(t.TempDir(), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a directory is a log")
	}
}
