package apiserver

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/tools/cache"
)

// TestDiscoveryGroups changes CRDs while the first one is being compiled. /apis has their groups at once, and always
// has the versions of other APIs.
func TestDiscoveryGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		crds := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
		compiling := make(chan struct{})
		d := &discoverer{
			handler: &handler{resources: &resources{
				lister: listers.NewCustomResourceDefinitionLister(crds), byID: map[types.UID]*slot{},
				build: func(context.Context, *apiextensionsv1.CustomResourceDefinition) (*resource, error) {
					<-compiling
					return &resource{}, nil
				},
			}},
			groups:  discovery.NewRootAPIsHandler(discovery.DefaultAddresses{}, crdserver.Codecs),
			all:     aggregated.NewResourceManager("apis"),
			changed: make(chan struct{}, 1), published: make(chan struct{}, 1),
		}
		v1 := metav1.GroupVersionForDiscovery{GroupVersion: "events.k8s.io/v1", Version: "v1"}
		d.groups.AddGroup(metav1.APIGroup{Name: "events.k8s.io", Versions: []metav1.GroupVersionForDiscovery{v1}})
		ended := make(chan struct{})
		go func() { d.run(ctx); close(ended) }()
		for _, step := range []struct {
			change func(any) error
			crd    *apiextensionsv1.CustomResourceDefinition
			want   string
		}{
			{crds.Add, servedCRD("a", "example.com", "v1"), "events.k8s.io/v1 example.com/v1"},
			{crds.Add, servedCRD("b", "events.k8s.io", "v2"), "events.k8s.io/v1 events.k8s.io/v2 example.com/v1"},
			{crds.Update, servedCRD("b", "events.k8s.io", "v1"), "events.k8s.io/v1 example.com/v1"},
			{crds.Delete, servedCRD("b", "events.k8s.io", "v1"), "events.k8s.io/v1 example.com/v1"},
			{crds.Delete, servedCRD("a", "example.com", "v1"), "events.k8s.io/v1"},
		} {
			if err := step.change(step.crd); err != nil {
				t.Fatal(err)
			}
			signal(d.changed)
			synctest.Wait()
			if got := groupVersions(t, d.groups); got != step.want {
				t.Errorf("after a change of %s: %s, want %s", step.crd.Name, got, step.want)
			}
		}
		close(compiling)
		synctest.Wait()
		cancel()
		<-ended
	})
}

// servedCRD returns an established CRD with one version.
func servedCRD(name, group, version string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group:    group,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: name, Kind: name},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: version, Served: true, Storage: true}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			},
			AcceptedNames: apiextensionsv1.CustomResourceDefinitionNames{Plural: name, Kind: name},
		},
	}
}

func groupVersions(t *testing.T, groups discovery.GroupLister) string {
	t.Helper()
	list, err := groups.Groups(t.Context(), &http.Request{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, g := range list {
		for _, v := range g.Versions {
			all = append(all, v.GroupVersion)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
