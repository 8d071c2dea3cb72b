package sidecar_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// TestWatchThroughRestarts: informers of both versions have all objects after restarts of the sidecar.
func TestWatchThroughRestarts(t *testing.T) {
	w := newWorld(t)
	client, err := dynamic.NewForConfig(w.config)
	check(t, err)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	listers := map[string]cache.GenericLister{}
	for _, version := range []string{"v1", "v1beta1"} {
		listers[version] = factory.ForResource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "lamps"}).Lister()
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	created := 0
	for range 4 {
		for range 5 {
			w.expect(201, w.do("POST", toLamps, asJSON, lamp(fmt.Sprintf("lamp-%d", created), `{"color":"blue"}`)))
			created++
		}
		check(t, w.sidecar.Kill())
		w.expect(503, w.do("POST", toLamps, asJSON, lamp("none", `{}`)))
		w.restart()
	}
	for version, lister := range listers {
		var got int
		for range 1000 {
			list, err := lister.List(labels.Everything())
			check(t, err)
			if got = len(list); got == created {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if got != created {
			t.Errorf("%s: the informer has %d objects, want %d", version, got, created)
		}
	}
	one, err := listers["v1beta1"].ByNamespace("default").Get("lamp-0")
	check(t, err)
	if version := one.(*unstructured.Unstructured).GetAPIVersion(); version != "example.com/v1beta1" {
		t.Error(version)
	}
}

// TestUpdateDuringTraffic: while the CRD changes, each write is evaluated by one of its versions, and none fails.
func TestUpdateDuringTraffic(t *testing.T) {
	w := newWorld(t)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for writer := range 4 {
		wait.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				r := w.do("POST", toLamps, asJSON, lamp(fmt.Sprintf("lamp-%d-%d", writer, i), `{"watts":8}`))
				if r.code == 503 && strings.Contains(r.body, "apiserver is shutting down") {
					continue // upstream's response to a request that found the resource just before it was replaced
				}
				if r.code != 201 && (r.code != 422 || !strings.Contains(r.body, "should be less than or equal to 5")) {
					t.Errorf("HTTP %d: %s", r.code, r.body)
				}
			}
		})
	}
	for _, maximum := range []int{5, 9, 5, 9, 5} {
		time.Sleep(100 * time.Millisecond)
		w.setMaximum(maximum)
	}
	w.eventually(422, func() response { return w.do("POST", toLamps+"?dryRun=All", asJSON, lamp("dry", `{"watts":8}`)) })
	close(stop)
	wait.Wait()
	for range 10 {
		w.expect(422, w.do("POST", toLamps, asJSON, lamp("late", `{"watts":8}`)))
	}
}

// setMaximum updates the CRD.
func (w *world) setMaximum(maximum int) {
	w.Helper()
	spec, err := json.Marshal(definition(w.T, maximum).Spec)
	check(w, err)
	w.expect(200, w.do("PATCH", toCRD, "application/merge-patch+json", `{"spec":`+string(spec)+`}`))
}
