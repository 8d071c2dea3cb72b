package etcd_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/etcd"
	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
)

// watching runs a Watch and returns where its end can be waited for. told, if not nil, gets the sequences told.
func watching(t *testing.T, s *etcd.Store, after uint64, told chan<- uint64) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		ended <- s.Watch(ctx, after, func(c registry.Commit) {
			if told != nil {
				told <- c.Sequence
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return ended
}

func end(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the watch does not end")
	}
	return nil
}

// A restored etcd is older than the reported state: the watch reports it, and the store can be loaded and
// written as it now is.
func TestRestored(t *testing.T) {
	server := etcdtest.Start(t)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}, Log: slog.New(slog.DiscardHandler)})
	kept, err := s.Commit(t.Context(), put("a", "kept"))
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(server.DataDir)); err != nil {
		t.Fatal(err)
	}
	server.Start()
	told := make(chan uint64, 100)
	ended := watching(t, s, kept, told)
	var last uint64
	for range 10 {
		if last, err = s.Commit(t.Context(), put("a", "lost")); err != nil {
			t.Fatal(err)
		}
	}
	for sequence := range told {
		if sequence == last {
			break
		}
	}
	server.Kill()
	for _, err := range []error{os.RemoveAll(server.DataDir), os.CopyFS(server.DataDir, os.DirFS(copied))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	server.Start()
	for _, e := range []<-chan error{ended, watching(t, s, last, nil)} {
		if err := end(t, e); !errors.Is(err, registry.ErrCompacted) {
			t.Errorf("got %v", err)
		}
	}
	state, err := s.Load(t.Context())
	if err != nil || state.Sequence != kept || len(state.Entries) != 1 || string(state.Entries[0].Value) != "kept" {
		t.Errorf("got %v, %v", state, err)
	}
	if _, err := s.Commit(t.Context(), registry.Transaction{Expect: []registry.Expectation{{Key: "a", Version: kept}}, Put: []registry.Entry{{Key: "a"}}}); err != nil {
		t.Error(err)
	}
}

// One that is restored and has counted further since, a caller that made it do so, is not taken for one in which nothing
// happened.
func TestRestoredAndFurther(t *testing.T) {
	server := etcdtest.Start(t)
	client := raw(t, server.Endpoint)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}, Log: slog.New(slog.DiscardHandler)})
	if _, err := s.Commit(t.Context(), put("a", "kept")); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(server.DataDir)); err != nil {
		t.Fatal(err)
	}
	server.Start()
	last, err := s.Commit(t.Context(), put("a", "lost"))
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	for _, err := range []error{os.RemoveAll(server.DataDir), os.CopyFS(server.DataDir, os.DirFS(copied))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	server.Start()
	compactFurther(t, client)
	if err := end(t, watching(t, s, last, nil)); !errors.Is(err, registry.ErrCompacted) {
		t.Errorf("got %v", err)
	}
}

// Foreign keys below the prefix are not commits: Load still returns the last reported state.
func TestForeignKeys(t *testing.T) {
	server := etcdtest.Start(t)
	client := raw(t, server.Endpoint)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}, Log: slog.New(slog.DiscardHandler)})
	told := make(chan uint64, 10)
	state, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	watching(t, s, state.Sequence, told)
	for _, op := range []clientv3.Op{clientv3.OpPut(etcd.DefaultPrefix+"theirs", "x"), clientv3.OpDelete(etcd.DefaultPrefix + "theirs")} {
		if _, err := client.Do(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	want, err := s.Commit(t.Context(), put("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := <-told; got != want {
		t.Errorf("told of %d, want %d", got, want)
	}
}

// compactFurther has others write, and compact all of that.
func compactFurther(t *testing.T, client *clientv3.Client) {
	t.Helper()
	var revision int64
	for range 5 {
		written, err := client.Put(t.Context(), "/others", "x")
		if err != nil {
			t.Fatal(err)
		}
		revision = written.Header.Revision
	}
	if _, err := client.Compact(t.Context(), revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
}

// A registry that is deleted, or replaced, while a process serves it is not written to, and not taken for an empty one.
func TestReplaced(t *testing.T) {
	server := etcdtest.Start(t)
	client := raw(t, server.Endpoint)
	options := etcd.Options{Endpoints: []string{server.Endpoint}}
	s := open(t, options)
	sequence, err := s.Commit(t.Context(), put("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	ended := watching(t, s, sequence, nil)
	for s.Following() != nil {
		time.Sleep(time.Millisecond)
	}
	refused := func(want string) {
		t.Helper()
		_, err := s.Commit(t.Context(), put("b", "1"))
		says(t, err, want)
		if errors.Is(err, registry.ErrConflict) {
			t.Errorf("a conflict would be tried again: %v", err)
		}
		_, err = s.Load(t.Context())
		says(t, err, want)
	}
	if _, err := client.Delete(t.Context(), etcd.DefaultPrefix, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	says(t, end(t, ended), "is missing")
	refused("is missing")

	next := open(t, options)
	if next.ID() == s.ID() {
		t.Error("the new registry has the ID of the old one")
	}
	refused("replaced by another one")
	says(t, end(t, watching(t, s, sequence, nil)), "replaced by another one")
	if state, err := next.Load(t.Context()); err != nil || len(state.Entries) != 0 {
		t.Errorf("the new registry has %v, %v", state.Entries, err)
	}
}

// Others who write to the same etcd, and have it compacted, are no reason to miss anything, nor to load anew: a watch
// begins, and goes on, behind what they wrote.
func TestOthersCompact(t *testing.T) {
	server := etcdtest.Start(t)
	client := raw(t, server.Endpoint)
	again := make(heard, 10)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}, Log: slog.New(again)})
	last, err := s.Commit(t.Context(), put("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	compact := func() { t.Helper(); compactFurther(t, client) }
	compact()
	if state, err := s.Load(t.Context()); err != nil || state.Sequence != last {
		t.Fatalf("got %v, %v, want sequence %d", state, err, last)
	}
	told := make(chan uint64, 10)
	ended := watching(t, s, last, told)
	commit := func() {
		t.Helper()
		for s.Following() != nil {
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(time.Millisecond):
			}
		}
		want, err := s.Commit(t.Context(), put("a", "2"))
		if err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-told:
			if got != want {
				t.Fatalf("told of %d, want %d", got, want)
			}
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Minute):
			t.Fatal("nothing was told")
		}
	}
	commit()
	compact()
	server.Kill()
	server.Start()
	select { // a commit before the watch is back would rightly be missed
	case <-again:
	case <-time.After(15 * time.Second): // it had come behind before, which is rare
	}
	commit()
}

// heard is a log's handler that gets a value when a store is followed again.
type heard chan struct{}

func (h heard) Enabled(context.Context, slog.Level) bool { return true }
func (h heard) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h heard) WithGroup(string) slog.Handler            { return h }
func (h heard) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "following the registry's store again" {
		h <- struct{}{}
	}
	return nil
}

// A replica that nobody writes to follows all the same, also where others wrote to the same etcd last.
func TestIdle(t *testing.T) {
	server := etcdtest.Start(t)
	client := raw(t, server.Endpoint)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}})
	last, err := s.Commit(t.Context(), put("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(t.Context(), "/others/key", "1"); err != nil {
		t.Fatal(err)
	}
	ended := watching(t, s, last, nil)
	follows := false
	for began := time.Now(); time.Since(began) < 7*time.Second; time.Sleep(10 * time.Millisecond) { // longer than silence is taken for a lost watch
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
		}
		switch err := s.Following(); {
		case err == nil:
			follows = true
		case follows:
			t.Fatal(err)
		}
	}
	if !follows {
		t.Error("it never followed")
	}
}

// Replicas that start at once on an empty etcd make one registry.
func TestStartAtOnce(t *testing.T) {
	server := etcdtest.Start(t)
	ids := make(chan string)
	for range 5 {
		go func() {
			s, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{server.Endpoint}})
			if err != nil {
				ids <- err.Error()
				return
			}
			defer func() { ids <- s.ID() }()
			_ = s.Close()
		}()
	}
	first := <-ids
	for range 4 {
		if next := <-ids; next != first {
			t.Errorf("%s and %s", first, next)
		}
	}
}

// While etcd hangs, Following says so; when it answers again, the watch goes on where it was.
func TestFollowing(t *testing.T) {
	server := etcdtest.Start(t)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}, Log: slog.New(slog.DiscardHandler)})
	told := make(chan registry.Commit, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Watch(ctx, 0, func(c registry.Commit) { told <- c }) }()
	t.Cleanup(func() { cancel(); <-done })
	until := func(following bool) {
		t.Helper()
		for began := time.Now(); (s.Following() == nil) != following; time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("following: %v, want %v", s.Following(), following)
			}
		}
	}
	until(true)
	server.Pause()
	until(false)
	t.Log(s.Following())
	server.Continue()
	until(true)
	sequence, err := s.Commit(t.Context(), put("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case c := <-told:
			if c.Sequence == sequence {
				return
			}
		case <-time.After(time.Minute):
			t.Fatal("the commit was not told")
		}
	}
}
