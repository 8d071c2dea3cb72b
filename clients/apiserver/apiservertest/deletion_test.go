package apiservertest

import (
	"reflect"
	"strconv"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// TestDeletions: the event of a deletion has the last content of the object and a resourceVersion of its own, in both
// versions, while others read and delete the same object.
func TestDeletions(t *testing.T) { withEachEvaluator(t, testDeletions) }

func testDeletions(t *testing.T, o Options) {
	const objects = 20
	ctx := t.Context()
	config := StartWith(t, o, definition(t))
	config.QPS, config.Burst = 1e4, 1e4
	v1, beta := client(t, config, "v1"), client(t, config, "v1beta1")
	list, err := v1.List(ctx, metav1.ListOptions{})
	check(t, err)
	watches := map[dynamic.ResourceInterface]watch.Interface{}
	for _, c := range []dynamic.ResourceInterface{v1, beta} {
		watches[c], err = c.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		check(t, err)
		defer watches[c].Stop()
	}
	last := map[dynamic.ResourceInterface]map[string]*unstructured.Unstructured{v1: {}, beta: {}}
	for i := range objects {
		name := "object-" + strconv.Itoa(i)
		_, err := v1.Create(ctx, widget(name, `{"size":1}`), metav1.CreateOptions{})
		check(t, err)
		_, err = v1.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"size":`+strconv.Itoa(i%7)+`}}`), metav1.PatchOptions{})
		check(t, err)
		for c, known := range last {
			known[name], err = c.Get(ctx, name, metav1.GetOptions{})
			check(t, err)
		}
		var group sync.WaitGroup
		for c, known := range last {
			group.Go(func() {
				if got, err := c.Get(ctx, name, metav1.GetOptions{}); err == nil && !reflect.DeepEqual(got, known[name]) || err != nil && !apierrors.IsNotFound(err) {
					t.Errorf("read %v, %v\nwant %v", got, err, known[name])
				}
			})
			group.Go(func() {
				if err := c.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	for c, w := range watches {
		for deleted := 0; deleted < objects; {
			e := <-w.ResultChan()
			got, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				t.Fatalf("event %+v", e)
			}
			if e.Type != watch.Deleted {
				continue
			}
			want := last[c]["object-"+strconv.Itoa(deleted)]
			deleted++
			order, err := resourceversion.CompareResourceVersion(got.GetResourceVersion(), want.GetResourceVersion())
			if err != nil || order <= 0 {
				t.Errorf("%s: resourceVersion %s after %s: %v", got.GetName(), got.GetResourceVersion(), want.GetResourceVersion(), err)
			}
			got.SetResourceVersion(want.GetResourceVersion())
			if !reflect.DeepEqual(got, want) {
				t.Errorf("deleted %v\nwant    %v", got, want)
			}
		}
	}
}
