package apiserver

import (
	"context"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
// connection, 20 goroutines and 100 KiB, and many CRDs are never listed or watched.
type lazyCache struct {
	raw        storage.Interface
	destroyRaw factory.DestroyFunc
	start      func() (storage.Interface, factory.DestroyFunc, error) // of the storage with a watch cache
	written    *writtenObjects                                        // of the codec of the storage

	starting sync.Mutex // held while the watch cache starts
	mu       sync.RWMutex
	cache    storage.Interface // nil before the start
	destroy  factory.DestroyFunc
	begin    time.Time // of the watch cache
	complete uint64    // the watch cache has all events after this resourceVersion, if it is not 0
	stopped  bool
}

// lazily returns a decorator that defers next to the first list or watch.
func (r *rawStorages) lazily(next generic.StorageDecorator) generic.StorageDecorator {
	return func(config *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error),
		newObject, newList func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		raw, destroy, err := r.create(config, newObject, newList, prefix)
		if err != nil {
			return nil, nil, err
		}
		c := &lazyCache{raw: raw, destroyRaw: destroy, start: func() (storage.Interface, factory.DestroyFunc, error) {
			return next(config, prefix, key, newObject, newList, attributes, triggers, indexers)
		}}
		return c, c.stop, nil
	}
}

// maxCacheWait bounds the wait of a request for a watch cache that has just started. After it, calls go to upstream's
// storage, which is ready or not.
const maxCacheWait = 3 * time.Second

// started starts the watch cache, unless it was started, and returns its storage. It waits at most for limit since the
// start until the storage is ready.
func (c *lazyCache) started(ctx context.Context, limit time.Duration) (storage.Interface, error) {
	if err := c.startCache(); err != nil {
		return nil, err
	}
	c.mu.RLock()
	s, left, complete := c.cache, limit-time.Since(c.begin), c.complete
	c.mu.RUnlock()
	if complete > 0 || left <= 0 {
		return s, nil
	}
	notReady := wait.PollUntilContextTimeout(ctx, readyInterval, left, true, func(context.Context) (bool, error) {
		return s.ReadinessCheck() == nil, nil
	})
	if notReady == nil {
		c.setComplete(s.GetCurrentResourceVersion(ctx))
	}
	return s, nil
}

// setComplete notes the current resourceVersion at a time when the watch cache is ready. An error leaves it unknown.
func (c *lazyCache) setComplete(version uint64, err error) {
	if err == nil {
		c.mu.Lock()
		c.complete = version
		c.mu.Unlock()
	}
}

// startCache starts the watch cache, unless it was started. After stop, it returns an error.
func (c *lazyCache) startCache() error {
	c.starting.Lock()
	defer c.starting.Unlock()
	c.mu.RLock()
	started, stopped := c.cache != nil, c.stopped
	c.mu.RUnlock()
	switch {
	case started:
		return nil
	case stopped:
		return storage.ErrStorageNotReady
	}
	s, destroy, err := c.start()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache, c.destroy, c.begin = s, destroy, time.Now()
	if c.stopped {
		destroy()
	}
	return nil
}

// cached returns the storage with the watch cache, nil before its start.
func (c *lazyCache) cached() storage.Interface {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.cache
}

// current returns the storage of calls that need no watch cache.
func (c *lazyCache) current() storage.Interface {
	if s := c.cached(); s != nil {
		return s
	}
	return c.raw
}

// stop destroys the storages, which ends their watches. It can be called more than once.
func (c *lazyCache) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	c.stopped = true
	if c.destroy != nil {
		c.destroy()
	}
	c.destroyRaw()
}

// Versioner implements storage.Interface.
func (c *lazyCache) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// Create implements storage.Interface.
func (c *lazyCache) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	return c.current().Create(ctx, key, obj, out, ttl)
}

// Delete implements storage.Interface. If the storage has the object as it is in the watch cache, the deleted object and
// the event of the deletion share its content. validate must not change the object.
func (c *lazyCache) Delete(ctx context.Context, key string, out runtime.Object, p *storage.Preconditions,
	validate storage.ValidateObjectFunc, existing runtime.Object, o storage.DeleteOptions) error {
	u := c.object(ctx, key)
	if u == nil || o.ExpectTransformOrDecodeError {
		return c.current().Delete(ctx, key, out, p, validate, existing, o)
	}
	u.Object = withOwnMetadata(u.Object) // the storage sets the resourceVersion
	c.written.expect(u)
	return c.raw.Delete(ctx, key, out, p, validate, u, o)
}

// object returns an object of the watch cache, which may be outdated and must not be changed. It returns nil for an
// object that is not in the cache.
func (c *lazyCache) object(ctx context.Context, key string) *unstructured.Unstructured {
	cached := c.cached()
	if cached == nil || cached.ReadinessCheck() != nil {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := cached.Get(ctx, key, storage.GetOptions{ResourceVersion: "0"}, u); err != nil {
		return nil
	}
	return u
}

// Watch implements storage.Interface. Events that are older than the watch cache come from the storage.
func (c *lazyCache) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	if c.isOlder(&o) {
		go func() { _, _ = c.started(background, maxCacheWait) }() // for later watches
		o.ProgressNotify = o.Predicate.AllowWatchBookmarks
		return c.raw.Watch(ctx, key, o)
	}
	s, err := c.started(ctx, maxCacheWait)
	if err != nil {
		return nil, err
	}
	return s.Watch(ctx, key, o)
}

// isOlder reports whether a watch begins at a resourceVersion of which the watch cache may lack events.
func (c *lazyCache) isOlder(o *storage.ListOptions) bool {
	version, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
	if err != nil || version == 0 || o.SendInitialEvents != nil {
		return false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.complete == 0 || version < c.complete
}

// Get implements storage.Interface.
func (c *lazyCache) Get(ctx context.Context, key string, o storage.GetOptions, out runtime.Object) error {
	return c.current().Get(ctx, key, o, out)
}

// GetList implements storage.Interface.
func (c *lazyCache) GetList(ctx context.Context, key string, o storage.ListOptions, list runtime.Object) error {
	s, err := c.started(ctx, maxCacheWait)
	if err != nil {
		return err
	}
	return s.GetList(ctx, key, o, list)
}

// GuaranteedUpdate implements storage.Interface.
func (c *lazyCache) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool,
	p *storage.Preconditions, update storage.UpdateFunc, existing runtime.Object) error {
	return c.current().GuaranteedUpdate(ctx, key, out, ignoreNotFound, p, update, existing)
}

// Stats implements storage.Interface.
func (c *lazyCache) Stats(ctx context.Context) (storage.Stats, error) {
	return c.current().Stats(ctx)
}

// ReadinessCheck implements storage.Interface.
func (c *lazyCache) ReadinessCheck() error {
	return c.current().ReadinessCheck()
}

// RequestWatchProgress implements storage.Interface.
func (c *lazyCache) RequestWatchProgress(ctx context.Context) error {
	return c.current().RequestWatchProgress(ctx)
}

// GetCurrentResourceVersion implements storage.Interface.
func (c *lazyCache) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	return c.current().GetCurrentResourceVersion(ctx)
}

// EnableResourceSizeEstimation implements storage.Interface.
func (c *lazyCache) EnableResourceSizeEstimation(keys storage.KeysFunc) error {
	return c.current().EnableResourceSizeEstimation(keys)
}

// CompactRevision implements storage.Interface.
func (c *lazyCache) CompactRevision() int64 {
	return c.current().CompactRevision()
}
