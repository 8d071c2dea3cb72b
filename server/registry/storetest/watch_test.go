package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdeval/crdeval/server/registry"
)

var watching = []test{
	{"watch: order and wholeness", watchOrder},
	{"watch: from the past", watchPast},
	{"watch: many writers", watchWriters},
	{"watch: the latest commit", watchLatest},
	{"watch: cancelled and closed", watchEnds},
	{"watch: compacted", watchCompacted},
	{"watch: the server restarts", watchRestart},
}

// patience bounds how long the delivery of a commit may take.
const patience = 5 * time.Minute

// watched is a running Watch, which is repeated after failures as the registry does.
type watched struct {
	t         *testing.T
	stop      context.CancelCauseFunc
	connected atomic.Bool
	commits   chan registry.Commit
	ended     chan error
}

func watch(t *testing.T, s registry.Store, after uint64) *watched {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &watched{t: t, stop: cancel, commits: make(chan registry.Commit, 10_000), ended: make(chan error, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			err := s.(registry.Watcher).Watch(ctx, after, func() { w.connected.Store(true) }, func(c registry.Commit) {
				after = c.Sequence
				w.commits <- c
			})
			w.connected.Store(false)
			if ctx.Err() != nil || errors.Is(err, registry.ErrCompacted) || errors.Is(err, registry.ErrClosed) {
				w.ended <- err
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	t.Cleanup(func() { cancel(nil); wg.Wait() })
	return w
}

// following waits until the watch receives commits.
func (w *watched) following() *watched {
	w.t.Helper()
	for began := time.Now(); !w.connected.Load(); time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			w.t.Fatal("the watch receives no commits")
		}
	}
	return w
}

func (w *watched) next() registry.Commit {
	w.t.Helper()
	select {
	case c := <-w.commits:
		return c
	case err := <-w.ended:
		w.t.Fatalf("the watch ended: %v", err)
	case <-time.After(patience):
		w.t.Fatal("no commit was delivered")
	}
	return registry.Commit{}
}

func (w *watched) end() error {
	w.t.Helper()
	select {
	case err := <-w.ended:
		return err
	case <-time.After(patience):
		w.t.Fatal("the watch does not end")
	}
	return nil
}

func describeCommit(c registry.Commit) string {
	slices.SortFunc(c.Put, func(a, b registry.Entry) int { return strings.Compare(a.Key, b.Key) })
	slices.Sort(c.Delete)
	return fmt.Sprintf("%d: put %v, deleted %q", c.Sequence, describe(c.Put), c.Delete)
}

func checkCommit(t *testing.T, got registry.Commit, want registry.Commit) {
	t.Helper()
	for i := range want.Put {
		want.Put[i].Version = want.Sequence
	}
	if describeCommit(got) != describeCommit(want) {
		t.Errorf("got %s\nwant %s", describeCommit(got), describeCommit(want))
	}
}

// Each commit is reported once, complete, in order, at every handle, also to its writer. Deletions by prefix come key by
// key; and one that changes nothing.
func watchOrder(t *testing.T, f fixture) {
	start := load(t, f.Store).Sequence
	var watches []*watched
	for _, s := range handles(t, f) {
		watches = append(watches, watch(t, s, start).following())
	}
	var many registry.Transaction
	for i := range 60 {
		many.Put = append(many.Put, put(fmt.Sprintf("many/%02d", i), strings.Repeat("v", 30_000))) // more than one message of 1.5 MiB
	}
	var want []registry.Commit
	record := func(tx registry.Transaction, deleted ...string) {
		sequence := commit(t, f.Store, tx)
		want = append(want, registry.Commit{Sequence: sequence, Put: slices.Clone(tx.Put), Delete: deleted})
	}
	record(registry.Transaction{Put: []registry.Entry{put("a", "1"), put("b", "")}})
	record(registry.Transaction{Put: []registry.Entry{put("a", "2")}, Delete: []string{"b", "never there"}}, "b")
	record(registry.Transaction{})
	record(many)
	keys := make([]string, 0, len(many.Put))
	for _, e := range many.Put {
		keys = append(keys, e.Key)
	}
	record(registry.Transaction{DeletePrefix: []string{"many/", "many/1"}, Put: []registry.Entry{put("c", "1")}}, keys...)
	for _, w := range watches {
		for _, c := range want {
			checkCommit(t, w.next(), c)
		}
	}
}

// A watch can begin after any commit that the store still has.
func watchPast(t *testing.T, f fixture) {
	start := load(t, f.Store).Sequence
	sequences := []uint64{start}
	for i := range 30 {
		sequences = append(sequences, commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put(fmt.Sprintf("k%d", i%3), fmt.Sprint(i))}}))
	}
	for _, from := range []int{0, 1, 29} {
		w := watch(t, f.Store, sequences[from])
		for i := from; i < 30; i++ {
			checkCommit(t, w.next(), registry.Commit{Sequence: sequences[i+1], Put: []registry.Entry{put(fmt.Sprintf("k%d", i%3), fmt.Sprint(i))}})
		}
		w.stop(nil)
		_ = w.end()
	}
}

// A caller that loads and then watches from there has the contents of the store, beside writers.
func watchWriters(t *testing.T, f fixture) {
	const writers, times = 4, 25
	stores := handles(t, f)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range times {
				tx := registry.Transaction{Put: []registry.Entry{put(fmt.Sprintf("w%d/%d", w, i%5), fmt.Sprint(i)), put("last", fmt.Sprint(w))}}
				if i%7 == 6 {
					tx.Put, tx.DeletePrefix = tx.Put[1:], []string{fmt.Sprintf("w%d/", w)}
				}
				if _, err := stores[w%len(stores)].Commit(t.Context(), tx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	type replica struct {
		entries map[string]registry.Entry
		last    uint64
		watched *watched
	}
	replicas := make([]replica, len(stores))
	for i, s := range stores {
		state := load(t, s) // somewhere in the middle
		replicas[i] = replica{entries: map[string]registry.Entry{}, last: state.Sequence, watched: watch(t, s, state.Sequence)}
		for _, e := range state.Entries {
			replicas[i].entries[e.Key] = e
		}
	}
	wg.Wait()
	end := commit(t, f.Store, registry.Transaction{})
	want := load(t, f.Store)
	for i, r := range replicas {
		for r.last < end {
			c := r.watched.next()
			if c.Sequence <= r.last {
				t.Fatalf("replica %d: commit %d after %d", i, c.Sequence, r.last)
			}
			r.last = c.Sequence
			for _, e := range c.Put {
				r.entries[e.Key] = e
			}
			for _, key := range c.Delete {
				delete(r.entries, key)
			}
		}
		var got []registry.Entry
		for _, e := range r.entries {
			got = append(got, e)
		}
		slices.SortFunc(got, func(a, b registry.Entry) int { return strings.Compare(a.Key, b.Key) })
		if fmt.Sprint(describe(got)) != fmt.Sprint(describe(want.Entries)) {
			t.Errorf("replica %d has\n%v, the store\n%v", i, describe(got), describe(want.Entries))
		}
	}
}

// Latest returns the last commit, at every handle, as soon as the commit is answered.
func watchLatest(t *testing.T, f fixture) {
	stores := handles(t, f)
	for i := range 20 {
		tx := registry.Transaction{Put: []registry.Entry{put("a", "1")}}
		if i%2 == 1 {
			tx = registry.Transaction{DeletePrefix: []string{"a"}}
		}
		want := commit(t, stores[i%len(stores)], tx)
		for _, s := range stores {
			if got, err := s.(registry.Watcher).Latest(t.Context()); err != nil || got != want {
				t.Errorf("latest is %d, want %d: %v", got, want, err)
			}
		}
	}
}

func watchEnds(t *testing.T, f fixture) {
	w := watch(t, f.Store, load(t, f.Store).Sequence).following()
	why := errors.New("enough")
	w.stop(why)
	if err := w.end(); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
	w = watch(t, f.Store, load(t, f.Store).Sequence).following()
	if err := f.Store.Close(); err != nil {
		t.Error(err)
	}
	if err := w.end(); !errors.Is(err, registry.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := watch(t, f.Store, 1).end(); !errors.Is(err, registry.ErrClosed) {
		t.Errorf("watched after it was closed: %v", err)
	}
}

// A watch that starts too late gets an error. A running watch and a Load continue.
func watchCompacted(t *testing.T, f fixture) {
	start := load(t, f.Store).Sequence
	present := watch(t, f.Store, start).following()
	for i := range 5 {
		commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", fmt.Sprint(i))}})
	}
	for range 5 { // before the compaction: a slow watch would miss them, as specified
		present.next()
	}
	f.Compacted()
	if err := watch(t, f.Store, start).end(); !errors.Is(err, registry.ErrCompacted) {
		t.Errorf("too late: %v", err)
	}
	again := watch(t, f.Store, load(t, f.Store).Sequence)
	last := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("b", "1")}})
	checkCommit(t, again.next(), registry.Commit{Sequence: last, Put: []registry.Entry{put("b", "1")}})
	checkCommit(t, present.next(), registry.Commit{Sequence: last, Put: []registry.Entry{put("b", "1")}})
}

// After restarts of the server, a watch has delivered each commit exactly once.
func watchRestart(t *testing.T, f fixture) {
	stores := handles(t, f)
	start := load(t, f.Store).Sequence
	var watches []*watched
	for _, s := range stores {
		watches = append(watches, watch(t, s, start))
	}
	var want []registry.Commit
	for round := range 3 {
		for i := range 5 {
			tx := registry.Transaction{Put: []registry.Entry{put("a", fmt.Sprint(round, i))}}
			sequence := commit(t, stores[i%len(stores)], tx)
			want = append(want, registry.Commit{Sequence: sequence, Put: tx.Put})
		}
		f.Bounced()
	}
	last := commit(t, f.Store, registry.Transaction{})
	want = append(want, registry.Commit{Sequence: last})
	for _, w := range watches {
		for _, c := range want {
			checkCommit(t, w.next(), c)
		}
	}
	for _, w := range watches {
		w.following()
	}
}
