// Package registry keeps what callers register: catalogs, the CRDs in them, and the revisions and status of each CRD.
//
// All data is in memory, in one immutable snapshot behind an atomic pointer. Readers load the pointer once and need
// neither locks nor the store. A write commits to the Store first, which makes it durable, and then publishes the next
// snapshot, which shares all unchanged parts. Of a Store with several writers (a Watcher), the registry applies all
// commits in the order of the store, its own included, so that all replicas go through the same snapshots.
//
// A revision is the digest of a CRD's canonical manifest and its conversion rules. It never changes, and is the key of the compiled program in
// the cache. Manifests are kept compressed, so that evicted programs are compiled again without the store. The status
// of a CRD is stored, not computed: it depends on the history of the CRD's group, as in an API server.
//
//	model.go, error.go               types that callers see
//	store.go, record.go              the Store interface, and the entries in a Store
//	register.go, compile.go          registration: the CRD is compiled before it is written
//	conversion.go                    conversion rules of registered CRDs
//	write.go                         commits what proposal.go and reconcile.go propose
//	apply.go, snapshot.go, group.go  a commit becomes the next snapshot; follow.go does so for a Watcher
//	view.go, inline.go               evaluation; inline CRDs of a request
//	token.go, pages.go               consistency tokens and pages
//	history.go, watch.go             events of past commits, and Watch
//	retention.go                     removal of old revisions; proposal.go applies it
//	quota.go                         quotas of catalogs, and the capacity of the registry
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/flow"
)

// Options configure a Registry.
type Options struct {
	// Programs caches compiled definitions by revision. It compiles them, so its Options.Run should be Scheduler.Do.
	// Required; the registry does not close it.
	Programs *cache.Cache[string, *engine.Definition]
	// Engine holds the options of all compilations. The registry sets Kubernetes and Existing itself.
	Engine engine.Options
	// MaxWait bounds how long a call waits for the write that its token names. An earlier deadline of the call wins.
	// Default: 5 s.
	MaxWait time.Duration
	// MaxWrite bounds how long a write waits for the store. An earlier deadline of the call wins. Default: 5 s.
	MaxWrite time.Duration
	// Scheduler shares CPU time between compilations and other work. Default: a new one.
	Scheduler *flow.Scheduler
	// Quota returns the current quota of a catalog. Default: no quotas.
	Quota func(catalog string) Quota
	// MaxBytes limits the estimated memory of all registered CRDs. Writes that exceed it fail. At start, the content of
	// the store is loaded even if it exceeds MaxBytes. Default: no limit.
	MaxBytes int64
	// Now is the clock for all stored times. Default: time.Now.
	Now func() time.Time
	// Log receives failures that are not returned to callers. Default: slog.Default().
	Log *slog.Logger
	// Registered is called for each registration of a CRD, and for each change of conversion rules, with its outcome or
	// its error. May be nil.
	Registered func(Subject, Outcome, error)
}

// Registry serves the contents of one Store. It is safe for concurrent use. It returns *Error, *engine.Error for
// manifests that cannot be read, and context errors.
type Registry struct {
	Options
	store   Store
	watcher Watcher // the store, if it has other writers; otherwise nil
	tag     storeTag

	snapshot atomic.Pointer[snapshot]
	changed  broadcast // wakes after each publish
	pins     pins
	history  history
	watches  watchCounts // calls of Watch in progress
	inline   *cache.Cache[inlineKey, *candidate]

	writing chan struct{} // semaphore of the one write that may run at a time

	stale   bool          // a commit has an unknown outcome: load before the next write; guarded by writing
	commits atomic.Uint64 // successful ones

	following sync.WaitGroup        // the goroutine that follows the store
	lost      atomic.Pointer[error] // why the store is not followed at the moment, or nil
	lifetime  context.Context       // ends with Close
	end       context.CancelFunc
}

// New loads the store and, if it is a Watcher, follows it until Close. ctx bounds the loading. The registry does not
// close the store: close the registry first.
func New(ctx context.Context, store Store, o Options) (*Registry, error) {
	if o.Programs == nil {
		return nil, errors.New("registry: Options.Programs is nil")
	}
	o.MaxWait = cmp.Or(o.MaxWait, 5*time.Second)
	o.MaxWrite = cmp.Or(o.MaxWrite, 5*time.Second)
	if o.Scheduler == nil {
		o.Scheduler = flow.New(flow.Options{})
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Quota == nil {
		o.Quota = func(string) Quota { return Quota{} }
	}
	if o.Registered == nil {
		o.Registered = func(Subject, Outcome, error) {}
	}
	r := &Registry{
		Options: o, store: store, tag: tagOf(store.ID()), inline: newInlineCache(),
		writing: make(chan struct{}, 1), history: history{logs: map[string]*eventLog{}},
	}
	s, _, err := r.load(ctx, emptySnapshot())
	if err != nil {
		return nil, err
	}
	for name := range s.catalogs.All() {
		r.history.open(name, s.sequence)
	}
	r.snapshot.Store(s)
	r.lifetime, r.end = context.WithCancel(context.Background())
	if w, ok := store.(Watcher); ok {
		r.watcher = w
		r.setLost(errNotWatched)
		r.following.Go(r.follow)
	}
	return r, nil
}

// Close ends all Watches and stops following the store. It waits for that and for the write that runs, or for ctx.
// Evaluation continues to work.
func (r *Registry) Close(ctx context.Context) error {
	r.end()
	idle := make(chan struct{})
	go func() {
		r.following.Wait()
		r.writing <- struct{}{}
		<-r.writing
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("registry: the store did not answer within the grace period: %w", context.Cause(ctx))
	}
}

// Sequence returns the sequence of the last applied commit. It is comparable between replicas of one store.
func (r *Registry) Sequence() uint64 { return r.snapshot.Load().sequence }

// Counts returns how much is registered, for metrics.
func (r *Registry) Counts() Counts {
	return r.snapshot.Load().allCounts()
}

// publish makes s the current snapshot, together with the events for its changes. Only one goroutine may call it: the
// one that follows a Watcher, otherwise the one that writes.
func (r *Registry) publish(s *snapshot, changes []change) {
	r.history.add(r.Sequence(), s.sequence, changes, func() { r.snapshot.Store(s) })
	r.changed.wake()
}

// load returns current as changed to the contents of the store, and the changes without those that were reverted in
// between.
func (r *Registry) load(ctx context.Context, current *snapshot) (*snapshot, []change, error) {
	state, err := r.store.Load(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("loading the registry: %w", err)
	}
	if state.Sequence < current.sequence {
		return nil, nil, fmt.Errorf(
			"the store is at sequence %d, but was at %d: it was restored from a backup; restart this process",
			state.Sequence, current.sequence)
	}
	deleted := map[string]bool{}
	for name, c := range current.catalogs.All() {
		deleted[catalogKey(name)] = name != DefaultCatalog
		for crd := range c.crds.All() {
			deleted[crdKey(name, crd)] = true
		}
	}
	for i := range state.Entries {
		delete(deleted, state.Entries[i].Key)
	}
	commit := Commit{Sequence: state.Sequence, Put: state.Entries}
	for key, is := range deleted {
		if is {
			commit.Delete = append(commit.Delete, key)
		}
	}
	next, changes, err := current.apply(commit)
	if err != nil {
		return nil, nil, fmt.Errorf("loading the registry: %w", err)
	}
	return next, changes, nil
}

// reload replaces the snapshot by the contents of the store.
func (r *Registry) reload(ctx context.Context) (err error) {
	defer host.Recover(&err)
	next, changes, err := r.load(ctx, r.snapshot.Load())
	if err == nil {
		r.publish(next, changes)
	}
	return err
}
