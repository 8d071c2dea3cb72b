package apiserver

import (
	"context"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// TestAwaitDefinition: a write of a CRD is acknowledged if the lister has it or a newer state. Otherwise the response is 504
// at the end of the request.
func TestAwaitDefinition(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	s := definitionStore{nil, listers.NewCustomResourceDefinitionLister(indexer)}
	written := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "lamps.example.com", ResourceVersion: "10"}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		listed  string
		timeout bool
	}{{"9", true}, {"10", false}, {"11", false}} {
		listed := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: written.Name, ResourceVersion: c.listed}}
		if err := indexer.Update(listed); err != nil {
			t.Fatal(err)
		}
		if err := s.await(ended, written); apierrors.IsTimeout(err) != c.timeout || !c.timeout && err != nil {
			t.Errorf("the lister has %s: %v", c.listed, err)
		}
	}
}
