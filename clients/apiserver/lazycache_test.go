package apiserver

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
)

// recorder is a storage that records its calls.
type recorder struct {
	storage.Interface
	ready atomic.Bool
	mu    sync.Mutex
	calls []string
}

func (r *recorder) recorded() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

func (r *recorder) record(call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
}

func (r *recorder) Get(context.Context, string, storage.GetOptions, runtime.Object) error {
	r.record("get")
	return nil
}

func (r *recorder) GetList(context.Context, string, storage.ListOptions, runtime.Object) error {
	r.record("list")
	return nil
}

func (r *recorder) Watch(_ context.Context, _ string, o storage.ListOptions) (watch.Interface, error) {
	r.record("watch " + o.ResourceVersion)
	return nil, nil
}

func (r *recorder) ReadinessCheck() error {
	if r.ready.Load() {
		return nil
	}
	return storage.ErrStorageNotReady
}

func (r *recorder) GetCurrentResourceVersion(context.Context) (uint64, error) { return 9, nil }

// TestLazyCache: the first list starts the watch cache, and waits until it is ready. Watches from versions that are older
// than the cache read the storage.
func TestLazyCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw, cached := &recorder{}, &recorder{}
		destroyed := []string{}
		starts := 0
		c := &lazyCache{
			raw: raw, destroyRaw: func() { destroyed = append(destroyed, "raw") },
			start: func() (storage.Interface, factory.DestroyFunc, error) {
				starts++
				return cached, func() { destroyed = append(destroyed, "cached") }, nil
			},
		}
		ctx := t.Context()
		get := func() {
			if err := c.Get(ctx, "", storage.GetOptions{}, nil); err != nil {
				t.Error(err)
			}
		}
		list := func() {
			if err := c.GetList(ctx, "", storage.ListOptions{}, nil); err != nil {
				t.Error(err)
			}
		}
		watch := func(version string) {
			if _, err := c.Watch(ctx, "", storage.ListOptions{ResourceVersion: version}); err != nil {
				t.Error(err)
			}
		}
		get()
		watch("5")
		time.AfterFunc(time.Second, func() { cached.ready.Store(true) })
		var both sync.WaitGroup
		for range 2 {
			both.Go(list)
		}
		time.Sleep(time.Second / 2)
		if len(cached.recorded()) > 0 {
			t.Error("a list before the cache is ready")
		}
		both.Wait()
		get()
		for _, version := range []string{"", "0", "8", "9"} {
			watch(version)
		}
		c.stop()
		c.stop()
		time.Sleep(maxCacheWait) // until the start for later watches ends
		synctest.Wait()
		want := []string{"list", "list", "get", "watch ", "watch 0", "watch 9"}
		if starts != 1 || !slices.Equal(raw.recorded(), []string{"get", "watch 5", "watch 8"}) || !slices.Equal(cached.recorded(), want) {
			t.Errorf("%d starts, %q, %q", starts, raw.recorded(), cached.recorded())
		}
		if !slices.Equal(destroyed, []string{"cached", "raw"}) {
			t.Errorf("destroyed %q", destroyed)
		}
	})
}

// TestLazyCacheStopped: nothing starts after the end.
func TestLazyCacheStopped(t *testing.T) {
	c := &lazyCache{raw: &recorder{}, destroyRaw: func() {}, start: func() (storage.Interface, factory.DestroyFunc, error) {
		t.Error("started")
		return &recorder{}, func() {}, nil
	}}
	c.stop()
	if err := c.GetList(t.Context(), "", storage.ListOptions{}, nil); !errors.Is(err, storage.ErrStorageNotReady) {
		t.Error(err)
	}
}

// deleter is a storage whose Delete encodes and decodes as that of etcd does.
type deleter struct {
	storage.Interface
	codec    storageCodec
	text     bytes.Buffer
	existing *unstructured.Unstructured
}

func (d *deleter) Delete(ctx context.Context, _ string, out runtime.Object, _ *storage.Preconditions, validate storage.ValidateObjectFunc,
	existing runtime.Object, _ storage.DeleteOptions) error {
	v := storage.APIObjectVersioner{}
	d.existing = existing.(*unstructured.Unstructured)
	if err := errors.Join(v.PrepareObjectForStorage(existing), d.codec.Encode(existing, &d.text), v.UpdateObject(existing, 7), validate(ctx, existing)); err != nil {
		return err
	}
	_, _, err := d.codec.Decode(d.text.Bytes(), nil, out)
	return errors.Join(err, v.UpdateObject(out, 8))
}

// holder is a watch cache with one object.
type holder struct {
	recorder
	object *unstructured.Unstructured
}

func (h *holder) Get(_ context.Context, _ string, _ storage.GetOptions, out runtime.Object) error {
	*out.(*unstructured.Unstructured) = *h.object
	return nil
}

// TestLazyCacheDelete: the deleted object and the object of the event have the content of the cached object, which does
// not change. They are not read, except in a version that is not the storage version.
func TestLazyCacheDelete(t *testing.T) {
	for version, wanted := range map[string]int{"v1beta1": 0, "v1": 2} { // v1beta1 is the storage version
		n := 0
		kind, written := lampKind, &writtenObjects{}
		kind.Version = version
		codec := storageCodec{reads{lamps(t), &n}, kind, "v1beta1", "test", false, written}
		cached := &holder{object: &unstructured.Unstructured{}}
		cached.ready.Store(true)
		text := strings.NewReplacer("/v1", "/"+version, `,"volts":2`, "", `"name"`, `"generation":1,"resourceVersion":"7","name"`, "1.0", "1.5").Replace(lamp)
		if err := unmarshal([]byte(text), cached.object); err != nil {
			t.Fatal(err)
		}
		before := cached.object.DeepCopy()
		raw := &deleter{codec: codec}
		c := &lazyCache{raw: raw, cache: cached, written: written}
		out := &unstructured.Unstructured{}
		validated := ""
		err := c.Delete(t.Context(), "", out, nil, func(_ context.Context, obj runtime.Object) error {
			validated = obj.(*unstructured.Unstructured).GetResourceVersion()
			return nil
		}, nil, storage.DeleteOptions{})
		event, _, decodeErr := codec.Decode(raw.text.Bytes(), nil, nil)
		if err := errors.Join(err, decodeErr, storage.APIObjectVersioner{}.UpdateObject(event, 9)); err != nil {
			t.Fatal(err)
		}
		if n != wanted || validated != "7" || !reflect.DeepEqual(cached.object, before) {
			t.Errorf("%s: %d reads, validated resourceVersion %s, the cached object is %v", version, n, validated, cached.object)
		}
		if len(written.expected) > 0 {
			t.Errorf("%s: the object is still expected", version)
		}
		for want, got := range map[string]*unstructured.Unstructured{"8": out, "9": event.(*unstructured.Unstructured)} {
			expected := before.DeepCopy()
			expected.SetResourceVersion(want)
			if !reflect.DeepEqual(got, expected) {
				t.Errorf("%s:\ngot  %v\nwant %v", version, got, expected)
			}
			got.SetName("changed")
			if raw.existing.GetName() == "changed" || cached.object.GetName() == "changed" {
				t.Errorf("%s: the metadata is that of another object", version)
			}
		}
	}
}
