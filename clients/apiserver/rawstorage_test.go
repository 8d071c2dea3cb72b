package apiserver

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc/metadata"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// TestRawStoragesShareConnections: storages share the connection to their etcd, which one of them does not close.
func TestRawStoragesShareConnections(t *testing.T) {
	r := &rawStorages{}
	defer r.close()
	create := func(server string) func() {
		config := storagebackend.NewDefaultConfig("registry", unstructured.UnstructuredJSONScheme)
		config.Transport.ServerList = []string{server}
		newObject := func() runtime.Object { return &unstructured.Unstructured{} }
		newList := func() runtime.Object { return &unstructured.UnstructuredList{} }
		_, destroy, err := r.create(config.ForResource(schema.GroupResource{Resource: "lamps"}), newObject, newList, "/lamps")
		if err != nil {
			t.Fatal(err)
		}
		return destroy
	}
	a, b := "unix:///missing/a", "unix:///missing/b" // connections are made in the background
	first := create(a)
	create(a)
	create(b)
	if len(r.clients) != 2 {
		t.Errorf("%d connections to 2 servers", len(r.clients))
	}
	first()
	first()
	for _, c := range r.clients {
		if err := c.Ctx().Err(); err != nil {
			t.Errorf("a connection ended with one of its storages: %v", err)
		}
	}
}

// contextWatcher is a storage that records the context of a watch.
type contextWatcher struct {
	storage.Interface
	watched context.Context
}

func (w *contextWatcher) Watch(ctx context.Context, _ string, _ storage.ListOptions) (watch.Interface, error) {
	w.watched = ctx
	return watch.NewFake(), nil
}

// TestRawStorageEndsWatches: a watch ends with its storage, and with its caller.
func TestRawStorageEndsWatches(t *testing.T) {
	for name, endOf := range map[string]int{"storage": 0, "caller": 1} {
		open, destroy := context.WithCancel(t.Context())
		ctx, leave := context.WithCancel(t.Context())
		w := &contextWatcher{}
		if _, err := (rawStorage{w, "lamps", open}).Watch(ctx, "", storage.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if sent, _ := metadata.FromOutgoingContext(w.watched); !slices.Equal(sent["crdeval-resource"], []string{"lamps"}) {
			t.Errorf("metadata %v: the watch shares a stream with those of other resources", sent)
		}
		if err := w.watched.Err(); err != nil {
			t.Errorf("%s: the watch ended early: %v", name, err)
		}
		[]func(){destroy, leave}[endOf]()
		<-w.watched.Done()
		destroy()
		leave()
	}
}
