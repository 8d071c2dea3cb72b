package apiserver

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// lazyCache is a storage without a watch cache until the first list or watch. The watch cache of a resource takes a
// connection, 20 goroutines and 100 KiB, and most servers have CRDs that nobody lists or watches.
type lazyCache struct {
	start func() (storage.Interface, factory.DestroyFunc, error) // of the storage with a watch cache

	mu      sync.RWMutex
	current *usedStorage
	started bool          // or stopped
	begin   time.Time     // when the watch cache started
	stopped chan struct{} // closed when the storage is destroyed
}

// usedStorage is a storage that counts its calls, so that it can be destroyed after them.
type usedStorage struct {
	storage.Interface
	destroy factory.DestroyFunc
	calls   sync.WaitGroup
}

// lazily returns a decorator that defers next to the first list or watch.
func lazily(next generic.StorageDecorator) generic.StorageDecorator {
	return func(config *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error),
		newObject, newList func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		raw, destroy, err := generic.NewRawStorage(config, newObject, newList, prefix)
		if err != nil {
			return nil, nil, err
		}
		c := newLazyCache(raw, destroy, func() (storage.Interface, factory.DestroyFunc, error) {
			return next(config, prefix, key, newObject, newList, attributes, triggers, indexers)
		})
		return c, c.stop, nil
	}
}

func newLazyCache(raw storage.Interface, destroy factory.DestroyFunc, start func() (storage.Interface, factory.DestroyFunc, error)) *lazyCache {
	return &lazyCache{start: start, current: &usedStorage{Interface: raw, destroy: destroy}, stopped: make(chan struct{})}
}

// maxCacheWait bounds the wait for a watch cache that has just started. After it, calls go to upstream's storage, which is
// ready or not.
const maxCacheWait = 5 * time.Second

// cached starts the watch cache, unless it was started or the storage was destroyed. It waits until a cache that has just
// started is ready.
func (c *lazyCache) cached(ctx context.Context) error {
	if err := c.replace(); err != nil {
		return err
	}
	c.mu.RLock()
	left := maxCacheWait - time.Since(c.begin)
	c.mu.RUnlock()
	if left <= 0 {
		return nil
	}
	s := c.use()
	defer s.calls.Done()
	_ = wait.PollUntilContextTimeout(ctx, readyInterval, left, true, func(context.Context) (bool, error) {
		return s.ReadinessCheck() == nil, nil
	})
	return nil
}

// replace replaces the storage by one with a watch cache. Calls of the first one can go on.
func (c *lazyCache) replace() error {
	c.mu.RLock()
	started := c.started
	c.mu.RUnlock()
	if started {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return nil
	}
	next, destroy, err := c.start()
	if err != nil {
		return err
	}
	before := c.current
	c.current, c.started, c.begin = &usedStorage{Interface: next, destroy: destroy}, true, time.Now()
	go func() {
		idle := make(chan struct{})
		go func() {
			before.calls.Wait()
			close(idle)
		}()
		select {
		case <-idle:
		case <-c.stopped:
		}
		before.destroy()
	}()
	return nil
}

// use returns the storage for a call. The caller calls calls.Done.
func (c *lazyCache) use() *usedStorage {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.current.calls.Add(1)
	return c.current
}

// stop destroys the storage, which ends its watches. It can be called more than once.
func (c *lazyCache) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.stopped:
		return
	default:
	}
	close(c.stopped)
	c.started = true
	c.current.destroy()
}

// uncached returns the storage for a call if the watch cache was not started, nil otherwise.
func (c *lazyCache) uncached() *usedStorage {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.started {
		return nil
	}
	c.current.calls.Add(1)
	return c.current
}

// Versioner implements storage.Interface.
func (c *lazyCache) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// Create implements storage.Interface.
func (c *lazyCache) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	s := c.use()
	defer s.calls.Done()
	return s.Create(ctx, key, obj, out, ttl)
}

// Delete implements storage.Interface.
func (c *lazyCache) Delete(ctx context.Context, key string, out runtime.Object, p *storage.Preconditions,
	validate storage.ValidateObjectFunc, existing runtime.Object, o storage.DeleteOptions) error {
	s := c.use()
	defer s.calls.Done()
	return s.Delete(ctx, key, out, p, validate, existing, o)
}

// Watch implements storage.Interface. A watch cache that starts now lacks the events since an older resourceVersion. So the
// first watch from a resourceVersion does not use it.
func (c *lazyCache) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	if o.ResourceVersion != "" && o.ResourceVersion != "0" && o.SendInitialEvents == nil {
		if s := c.uncached(); s != nil {
			context.AfterFunc(ctx, s.calls.Done)
			w, err := s.Watch(ctx, key, o)
			if failed := c.replace(); err == nil {
				err = failed
			}
			return w, err
		}
	}
	if err := c.cached(ctx); err != nil {
		return nil, err
	}
	s := c.use()
	defer s.calls.Done()
	return s.Watch(ctx, key, o)
}

// Get implements storage.Interface.
func (c *lazyCache) Get(ctx context.Context, key string, o storage.GetOptions, out runtime.Object) error {
	s := c.use()
	defer s.calls.Done()
	return s.Get(ctx, key, o, out)
}

// GetList implements storage.Interface.
func (c *lazyCache) GetList(ctx context.Context, key string, o storage.ListOptions, list runtime.Object) error {
	if err := c.cached(ctx); err != nil {
		return err
	}
	s := c.use()
	defer s.calls.Done()
	return s.GetList(ctx, key, o, list)
}

// GuaranteedUpdate implements storage.Interface.
func (c *lazyCache) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool,
	p *storage.Preconditions, update storage.UpdateFunc, existing runtime.Object) error {
	s := c.use()
	defer s.calls.Done()
	return s.GuaranteedUpdate(ctx, key, out, ignoreNotFound, p, update, existing)
}

// Stats implements storage.Interface.
func (c *lazyCache) Stats(ctx context.Context) (storage.Stats, error) {
	s := c.use()
	defer s.calls.Done()
	return s.Stats(ctx)
}

// ReadinessCheck implements storage.Interface.
func (c *lazyCache) ReadinessCheck() error {
	s := c.use()
	defer s.calls.Done()
	return s.ReadinessCheck()
}

// RequestWatchProgress implements storage.Interface.
func (c *lazyCache) RequestWatchProgress(ctx context.Context) error {
	s := c.use()
	defer s.calls.Done()
	return s.RequestWatchProgress(ctx)
}

// GetCurrentResourceVersion implements storage.Interface.
func (c *lazyCache) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	s := c.use()
	defer s.calls.Done()
	return s.GetCurrentResourceVersion(ctx)
}

// EnableResourceSizeEstimation implements storage.Interface.
func (c *lazyCache) EnableResourceSizeEstimation(keys storage.KeysFunc) error {
	s := c.use()
	defer s.calls.Done()
	return s.EnableResourceSizeEstimation(keys)
}

// CompactRevision implements storage.Interface.
func (c *lazyCache) CompactRevision() int64 {
	s := c.use()
	defer s.calls.Done()
	return s.CompactRevision()
}
