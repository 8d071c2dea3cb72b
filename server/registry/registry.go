package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
)

// Options configure a Registry.
type Options struct {
	// Programs holds the compiled definitions, by revision. Required; the registry does not close it.
	Programs *cache.Cache[string, *engine.Definition]
	// Engine are the options for every compilation; KubernetesMinor is the catalog's own, and Existing the registry's.
	Engine engine.Options
	// MaxWait bounds how long a call waits for the write that its token names, when its own deadline is further away or it has none.
	// Default: 5 s.
	MaxWait time.Duration
	// MaxWrite bounds how long a write waits for a store that does not answer, when its caller's deadline is further away or it has none.
	// Default: 5 s.
	MaxWrite time.Duration
	// MaxCompiles bounds how many manifests of up to 256 KiB are judged at once, and how many longer ones; more wait their turn for as long as
	// their callers do. It keeps cores and memory for evaluations: a CRD of a few MiB may take seconds to judge, and tens of MiB. Those
	// of usual size do not wait for them. Default: GOMAXPROCS.
	MaxCompiles int
	// Now is the clock of all times that are kept. Default: time.Now.
	Now func() time.Time
	// Log gets what no caller is told. Default: slog.Default().
	Log *slog.Logger
}

// Registry is all that is registered, over one Store. It is safe for concurrent use. Its errors are *Error, *engine.Error for
// manifests that cannot be judged, and those of contexts.
type Registry struct {
	store    Store
	watcher  Watcher // the store, if others write to it as well
	tag      storeTag
	programs *cache.Cache[string, *engine.Definition]
	engine   engine.Options
	maxWait  time.Duration
	maxWrite time.Duration
	now      func() time.Time
	log      *slog.Logger

	snapshot atomic.Pointer[snapshot]
	changed  broadcast
	lists    pinned
	news     chronicle
	overlaid *overlaid

	// compiling and compilingLong have a place for each manifest that is judged at once; channels, so that waiting ends with the caller's context.
	compiling, compilingLong chan struct{}

	// writing is held by the one write that is under way; a channel, so that waiting ends with the caller's context.
	writing chan struct{}
	stale   bool          // the last commit's outcome is unknown: load before the next write; guarded by writing
	commits atomic.Uint64 // successful ones

	following sync.WaitGroup        // the goroutine that follows the store
	lost      atomic.Pointer[error] // why the store is not followed at the moment, if the Watcher does not know
	lifetime  context.Context       // ends with Close
	end       context.CancelFunc
}

// New loads what store has and serves it; a Watcher it follows from then on. ctx is that of loading. The registry does not close the store:
// close the registry first.
func New(ctx context.Context, store Store, o Options) (*Registry, error) {
	if o.Programs == nil {
		return nil, errors.New("registry: Options.Programs is nil")
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 5 * time.Second
	}
	if o.MaxWrite <= 0 {
		o.MaxWrite = 5 * time.Second
	}
	if o.MaxCompiles <= 0 {
		o.MaxCompiles = runtime.GOMAXPROCS(0)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	r := &Registry{
		store: store, tag: tagOf(store.ID()), programs: o.Programs, engine: o.Engine, maxWait: o.MaxWait, maxWrite: o.MaxWrite, now: o.Now, log: o.Log,
		lists: pinned{now: o.Now}, writing: make(chan struct{}, 1), overlaid: newOverlaid(),
		compiling: make(chan struct{}, o.MaxCompiles), compilingLong: make(chan struct{}, o.MaxCompiles),
	}
	r.lifetime, r.end = context.WithCancel(context.Background())
	state, err := store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("loading the registry: %w", err)
	}
	s, err := load(state)
	if err != nil {
		return nil, fmt.Errorf("loading the registry: %w", err)
	}
	for name := range s.catalogs.All() {
		r.news.begin(name, s.sequence)
	}
	r.snapshot.Store(s)
	if w, ok := store.(Watcher); ok {
		r.watcher = w
		r.following.Go(r.follow)
	}
	return r, nil
}

// Close ends all Watches and stops following the store. It waits for that and for the write under way, or for ctx. Evaluation goes on.
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
		return fmt.Errorf("registry: the store still did not answer at the end of the grace period: %w", context.Cause(ctx))
	}
}

// publish makes a snapshot the one that is served. Only one goroutine at a time may: the one that follows the store, if it is a Watcher, otherwise
// the one that is writing. Who watches is told of the changes when the snapshot is served, not before: what an event names can be asked for.
func (r *Registry) publish(s *snapshot, changes []change) {
	r.news.add(r.snapshot.Load().sequence, s.sequence, changes, func() { r.snapshot.Store(s) })
	r.changed.wake()
}

// reload takes what the store has now for what is registered, and tells of the differences.
func (r *Registry) reload(ctx context.Context) error {
	state, err := r.store.Load(ctx)
	if err != nil {
		return fmt.Errorf("loading the registry: %w", err)
	}
	current := r.snapshot.Load()
	if state.Sequence < current.sequence {
		return fmt.Errorf("the store is at %d and has been at %d: it was restored to an earlier state; restart this process to serve that", state.Sequence, current.sequence)
	}
	next, err := load(state)
	if err != nil {
		return fmt.Errorf("loading the registry: %w", err)
	}
	r.publish(next, difference(current, next))
	return nil
}
