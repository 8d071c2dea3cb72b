package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
)

// Options configure a Registry.
type Options struct {
	// Programs holds the compiled definitions, by revision. Required; the registry does not close it.
	Programs *cache.Cache[*engine.Definition]
	// Engine are the options for every compilation; KubernetesMinor is the catalog's own.
	Engine engine.Options
	// MaxWait bounds how long a call waits for the write that its token names, when its own deadline is further away or it has none.
	// Default: 5 s.
	MaxWait time.Duration
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
	tag      storeTag
	programs *cache.Cache[*engine.Definition]
	engine   engine.Options
	maxWait  time.Duration
	now      func() time.Time
	log      *slog.Logger

	snapshot atomic.Pointer[snapshot]
	changed  broadcast
	lists    pinned

	// compiling and compilingLong have a place for each manifest that is judged at once; channels, so that waiting ends with the caller's context.
	compiling, compilingLong chan struct{}

	// writing is held by the one write that is under way; a channel, so that waiting ends with the caller's context.
	writing chan struct{}
	stale   bool // the last commit's outcome is unknown: load before the next write; guarded by writing
}

// New loads what store has and serves it. The registry does not close the store.
func New(ctx context.Context, store Store, o Options) (*Registry, error) {
	if o.Programs == nil {
		return nil, errors.New("registry: Options.Programs is nil")
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 5 * time.Second
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
		store: store, tag: tagOf(store.ID()), programs: o.Programs, engine: o.Engine, maxWait: o.MaxWait, now: o.Now, log: o.Log,
		lists: pinned{now: o.Now}, writing: make(chan struct{}, 1),
		compiling: make(chan struct{}, o.MaxCompiles), compilingLong: make(chan struct{}, o.MaxCompiles),
	}
	if err := r.reload(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Registry) reload(ctx context.Context) error {
	state, err := r.store.Load(ctx)
	if err != nil {
		return fmt.Errorf("loading the registry: %w", err)
	}
	s, err := load(state)
	if err != nil {
		return fmt.Errorf("loading the registry: %w", err)
	}
	r.publish(s)
	return nil
}

func (r *Registry) publish(s *snapshot) {
	r.snapshot.Store(s)
	r.changed.wake()
}

// attempts bounds how often a write is planned anew because another replica's came first. Every failed attempt is someone's success.
const attempts = 16

// write makes one change: plan looks at the newest snapshot and says what to commit. An empty transaction commits nothing. It returns the
// snapshot that includes the change. plan may run several times.
func (r *Registry) write(ctx context.Context, plan func(*snapshot) (Transaction, error)) (*snapshot, error) {
	select {
	case r.writing <- struct{}{}:
		defer func() { <-r.writing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for range attempts {
		if r.stale {
			if err := r.reload(ctx); err != nil {
				return nil, r.unavailable(ctx, err)
			}
			r.stale = false
		}
		current := r.snapshot.Load()
		t, err := plan(current)
		if err != nil || len(t.Put) == 0 && len(t.Delete) == 0 {
			return current, err
		}
		sequence, err := r.store.Commit(ctx, t)
		switch {
		case err == nil:
			return r.accept(ctx, current, t, sequence)
		case errors.Is(err, ErrConflict):
			r.stale = true
		case ctx.Err() != nil:
			r.stale = true
			return nil, context.Cause(ctx)
		default:
			r.stale = true
			return nil, r.unavailable(ctx, err)
		}
	}
	return nil, r.unavailable(ctx, fmt.Errorf("%d attempts, each overtaken by another write: %w", attempts, ErrConflict))
}

// accept makes a committed transaction visible.
func (r *Registry) accept(ctx context.Context, current *snapshot, t Transaction, sequence uint64) (*snapshot, error) {
	if sequence != current.sequence+1 {
		// Others wrote in between, to entries that we did not touch: their writes belong to that sequence too.
		if err := r.reload(context.WithoutCancel(ctx)); err != nil {
			r.stale = true
			return nil, r.unavailable(ctx, err)
		}
		return r.snapshot.Load(), nil
	}
	for i := range t.Put {
		t.Put[i].Version = sequence
	}
	next, err := current.apply(t.Put, t.Delete, sequence)
	if err != nil {
		r.stale = true // it is committed, but we cannot read it: that is a fault of ours
		return nil, fmt.Errorf("reading what was just written: %w", err)
	}
	r.publish(next)
	return next, nil
}

// unavailable is the error of a store that failed. Callers are told the kind of failure; where on the server it happened is for the log.
func (r *Registry) unavailable(ctx context.Context, err error) error {
	r.log.ErrorContext(ctx, "the registry's store failed", "error", err)
	what := "the server's log says how"
	var number syscall.Errno
	switch {
	case errors.As(err, &number):
		what = number.Error()
	case errors.Is(err, ErrConflict):
		what = "each attempt was overtaken by another write"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		what = "it did not answer in time"
	}
	return &Error{Reason: StoreUnavailable, Message: "the registry's store failed: " + what + "; try again", Err: err}
}

// Counts says how much is registered.
type Counts struct {
	Catalogs, CRDs, Revisions int
	ManifestBytes             int64 // of all revisions, as they are kept
}

// Counts counts, for metrics.
func (r *Registry) Counts() Counts {
	var n Counts
	for _, c := range r.snapshot.Load().catalogs {
		n.Catalogs++
		n.CRDs += len(c.crds)
		for _, d := range c.crds {
			n.Revisions += len(d.revisions)
			for _, rev := range d.revisions {
				n.ManifestBytes += int64(len(rev.manifest))
			}
		}
	}
	return n
}
