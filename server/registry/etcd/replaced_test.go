package etcd_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/etcd"
	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
)

// follower is a running Watch, which is repeated after failures as the registry does.
type follower struct {
	commits   chan registry.Commit
	ended     chan error // receives the error after which it is not repeated
	following atomic.Bool
	lost      atomic.Int32 // how often following ended
	responses atomic.Int32
}

func follow(t *testing.T, s *etcd.Store, after uint64) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{commits: make(chan registry.Commit, 1000), ended: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			err := s.Watch(ctx, after, func() { f.responses.Add(1); f.following.Store(true) }, func(c registry.Commit) {
				after = c.Sequence
				f.commits <- c
			})
			if f.following.Swap(false) {
				f.lost.Add(1)
			}
			if ctx.Err() != nil || errors.Is(err, registry.ErrCompacted) || errors.Is(err, etcd.ErrCorrupt) || strings.Contains(err.Error(), "replaced") {
				f.ended <- err
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// until waits until the follower follows the store, or does not.
func (f *follower) until(t *testing.T, following bool) {
	t.Helper()
	for began := time.Now(); f.following.Load() != following; time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("following: %v, want %v", !following, following)
		}
		select {
		case err := <-f.ended:
			t.Fatal(err)
		default:
		}
	}
}

// next returns the next commit.
func (f *follower) next(t *testing.T) registry.Commit {
	t.Helper()
	select {
	case c := <-f.commits:
		return c
	case err := <-f.ended:
		t.Fatal(err)
	case <-time.After(patience):
		t.Fatal("no commit was delivered")
	}
	return registry.Commit{}
}

func (f *follower) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-f.ended:
		return err
	case <-time.After(patience):
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
	f := follow(t, s, kept)
	var last uint64
	for range 10 {
		if last, err = s.Commit(t.Context(), put("a", "lost")); err != nil {
			t.Fatal(err)
		}
	}
	for f.next(t).Sequence != last {
		continue
	}
	server.Kill()
	for _, err := range []error{os.RemoveAll(server.DataDir), os.CopyFS(server.DataDir, os.DirFS(copied))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	server.Start()
	for _, f := range []*follower{f, follow(t, s, last)} {
		if err := f.end(t); !errors.Is(err, registry.ErrCompacted) {
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
	if err := follow(t, s, last).end(t); !errors.Is(err, registry.ErrCompacted) {
		t.Errorf("got %v", err)
	}
}

// Foreign keys below the prefix are not commits: Load still returns the last reported state.
func TestForeignKeys(t *testing.T) {
	server := etcdtest.Start(t)
	client := raw(t, server.Endpoint)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}, Log: slog.New(slog.DiscardHandler)})
	state, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := follow(t, s, state.Sequence)
	for _, op := range []clientv3.Op{clientv3.OpPut(etcd.DefaultPrefix+"theirs", "x"), clientv3.OpDelete(etcd.DefaultPrefix + "theirs")} {
		if _, err := client.Do(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	want, err := s.Commit(t.Context(), put("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.next(t).Sequence; got != want {
		t.Errorf("got commit %d, want %d", got, want)
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
	f := follow(t, s, sequence)
	f.until(t, true)
	rejected := func(want string) {
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
	says(t, f.end(t), "is missing")
	rejected("is missing")

	next := open(t, options)
	if next.ID() == s.ID() {
		t.Error("the new registry has the ID of the old one")
	}
	rejected("replaced by another one")
	says(t, follow(t, s, sequence).end(t), "replaced by another one")
	if state, err := next.Load(t.Context()); err != nil || len(state.Entries) != 0 {
		t.Errorf("the new registry has %v, %v", state.Entries, err)
	}
}

// A replica whose store loses its identity serves what it knows. When the identity is back, it follows again.
func TestIdentityIsRestored(t *testing.T) {
	server := etcdtest.Start(t)
	client := raw(t, server.Endpoint)
	newRegistry := func() *registry.Registry {
		programs := cache.New(cache.Options[string, *engine.Definition]{Weigh: (*engine.Definition).Size})
		r, err := registry.New(t.Context(), open(t, etcd.Options{Endpoints: []string{server.Endpoint}}), registry.Options{
			Programs: programs, MaxWait: patience, MaxWrite: patience, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, err := range []error{r.Close(context.Background()), programs.Close(context.Background())} {
				if err != nil {
					t.Error(err)
				}
			}
		})
		return r
	}
	r := newRegistry()
	if _, _, err := r.CreateCatalog(t.Context(), "before", ""); err != nil {
		t.Fatal(err)
	}
	const key = etcd.DefaultPrefix + "store"
	identity, err := client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if err := r.Following(); err != nil && strings.Contains(err.Error(), "is missing") {
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("following: %v", r.Following())
		}
	}
	if _, err := r.Catalog(t.Context(), "before", ""); err != nil {
		t.Error(err)
	}
	if _, err := client.Put(t.Context(), key, string(identity.Kvs[0].Value)); err != nil {
		t.Fatal(err)
	}
	_, token, err := newRegistry().CreateCatalog(t.Context(), "after", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Catalog(t.Context(), "after", token); err != nil {
		t.Error(err)
	}
}

// Others who write to the same etcd, and compact it, do not end a watch or make it miss a commit.
func TestOthersCompact(t *testing.T) {
	server := etcdtest.Start(t)
	client := raw(t, server.Endpoint)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}})
	last, err := s.Commit(t.Context(), put("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	compactFurther(t, client)
	if state, err := s.Load(t.Context()); err != nil || state.Sequence != last {
		t.Fatalf("got %v, %v, want sequence %d", state, err, last)
	}
	f := follow(t, s, last)
	commit := func() {
		t.Helper()
		f.until(t, true)
		want, err := s.Commit(t.Context(), put("a", "2"))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.next(t).Sequence; got != want {
			t.Fatalf("got commit %d, want %d", got, want)
		}
		last = want
	}
	commit()
	compactFurther(t, client)
	server.Kill()
	server.Start()
	// A commit before the watch has resumed at the new revision would be missing, as specified. Its first responses are
	// those to the old revision.
	for began, before := time.Now(), f.responses.Load(); f.responses.Load() < before+3; time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatal("the watch does not resume")
		}
	}
	commit()
	// A new watch begins after what others wrote.
	compactFurther(t, client)
	f = follow(t, s, last)
	commit()
}

// A replica follows a store without writes, even if the last writes to the same etcd were to other keys.
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
	f := follow(t, s, last)
	const attempts = 40 // a slow machine may delay a response too long
	for range attempts {
		f.until(t, true)
		lost := f.lost.Load()
		time.Sleep(7 * time.Second) // a watch without any response is lost earlier
		if f.lost.Load() == lost {
			return
		}
	}
	t.Errorf("the watch was lost %d times", f.lost.Load())
}

// Replicas that start at once on an empty etcd make one registry.
func TestStartAtOnce(t *testing.T) {
	server := etcdtest.Start(t)
	ids := make(chan string)
	for range 5 {
		go func() {
			s, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{server.Endpoint}, DialTimeout: patience})
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

// While etcd hangs, the watch fails. When it answers again, a watch continues from the last commit.
func TestFollowing(t *testing.T) {
	server := etcdtest.Start(t)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}})
	f := follow(t, s, 0)
	f.until(t, true)
	server.Pause()
	f.until(t, false)
	server.Continue()
	f.until(t, true)
	sequence, err := s.Commit(t.Context(), put("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	for f.next(t).Sequence != sequence {
		continue
	}
}
