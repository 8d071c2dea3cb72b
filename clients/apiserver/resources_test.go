package apiserver

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// TestResourcesShareBuilds: requests that need a resource share one attempt to build it, and end with their contexts.
func TestResourcesShareBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crds := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
		add := func(group string) {
			_ = crds.Add(&apiextensionsv1.CustomResourceDefinition{
				ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: group},
			})
		}
		add("x")
		var builds atomic.Int32
		stalled, broken := make(chan struct{}), errors.New("no evaluator")
		rs := &resources{
			lister: listers.NewCustomResourceDefinitionLister(crds), byID: map[types.UID]*slot{},
			build: func(_ context.Context, crd *apiextensionsv1.CustomResourceDefinition) (*resource, error) {
				builds.Add(1)
				<-stalled
				if crd.Spec.Group == "x" {
					return nil, broken
				}
				return &resource{}, nil
			},
		}
		results := make(chan error, 20)
		begin := func(ctx context.Context) {
			go func() {
				_, err := rs.get(ctx, "a")
				results <- err
			}()
			synctest.Wait()
		}
		for range 8 {
			begin(t.Context())
		}
		ended, cancel := context.WithCancel(t.Context())
		begin(ended)
		cancel()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("a request that has ended: %v", err)
		}
		close(stalled)
		for range 8 {
			if err := <-results; !errors.Is(err, broken) {
				t.Error(err)
			}
		}
		if n := builds.Load(); n != 1 {
			t.Errorf("%d builds", n)
		}

		// A waiting request gets the resource of the newest state.
		stalled = make(chan struct{})
		begin(t.Context())
		add("y")
		begin(t.Context())
		close(stalled)
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if n := builds.Load(); n != 3 {
			t.Errorf("%d builds", n)
		}
	})
}
