package apiserver

import (
	"context"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
)

// recorder is a storage that records its calls. A creation waits for a value.
type recorder struct {
	storage.Interface
	create  chan struct{}
	started chan struct{}
	mu      sync.Mutex
	calls   []string
}

func (r *recorder) record(call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
}

func (r *recorder) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	close(r.started)
	<-r.create
	r.record("create")
	return nil
}

func (r *recorder) Get(context.Context, string, storage.GetOptions, runtime.Object) error {
	r.record("get")
	return nil
}

func (r *recorder) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	r.record("watch")
	return nil, nil
}

func (r *recorder) ReadinessCheck() error { return nil }

// TestLazyCache: the first watch replaces the storage, which is destroyed when its last call has ended.
func TestLazyCache(t *testing.T) {
	raw, cached := &recorder{create: make(chan struct{}), started: make(chan struct{})}, &recorder{}
	destroyed := make(chan string, 2)
	starts := 0
	c := newLazyCache(raw, func() { destroyed <- "raw" }, func() (storage.Interface, factory.DestroyFunc, error) {
		starts++
		return cached, func() { destroyed <- "cached" }, nil
	})
	ctx := t.Context()
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	check(c.Get(ctx, "", storage.GetOptions{}, nil))
	creation := make(chan error)
	go func() { creation <- c.Create(ctx, "", nil, nil, 0) }()
	<-raw.started
	for range 2 {
		_, err := c.Watch(ctx, "", storage.ListOptions{})
		check(err)
	}
	check(c.Get(ctx, "", storage.GetOptions{}, nil))
	if len(destroyed) > 0 {
		t.Error("destroyed a storage that is in use")
	}
	close(raw.create)
	check(<-creation)
	if got := <-destroyed; got != "raw" {
		t.Errorf("destroyed %s", got)
	}
	c.stop()
	if got := <-destroyed; got != "cached" {
		t.Errorf("destroyed %s", got)
	}
	if starts != 1 || !slices.Equal(raw.calls, []string{"get", "create"}) || !slices.Equal(cached.calls, []string{"watch", "watch", "get"}) {
		t.Errorf("%d starts, %q, %q", starts, raw.calls, cached.calls)
	}
}

// TestLazyCacheVersions: the first watch from a resourceVersion reads the storage, whose history is longer than that of a
// cache that starts. It ends when the storage is destroyed.
func TestLazyCacheVersions(t *testing.T) {
	raw, cached := &recorder{}, &recorder{}
	destroyed := make(chan string, 2)
	c := newLazyCache(raw, func() { destroyed <- "raw" }, func() (storage.Interface, factory.DestroyFunc, error) {
		return cached, func() { destroyed <- "cached" }, nil
	})
	for range 2 {
		if _, err := c.Watch(t.Context(), "", storage.ListOptions{ResourceVersion: "5"}); err != nil {
			t.Error(err)
		}
	}
	if len(destroyed) > 0 {
		t.Error("destroyed the storage of a watch")
	}
	c.stop()
	c.stop()
	got := []string{<-destroyed, <-destroyed}
	slices.Sort(got)
	if !slices.Equal(got, []string{"cached", "raw"}) || !slices.Equal(raw.calls, []string{"watch"}) || !slices.Equal(cached.calls, []string{"watch"}) {
		t.Errorf("%q, %q, destroyed %q", raw.calls, cached.calls, got)
	}
}
