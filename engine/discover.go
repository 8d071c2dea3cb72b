package engine

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/discovery"
)

// DiscoverableCRD is a CRD for Discover. It needs a Definition or a Name; without either it is ignored.
type DiscoverableCRD struct {
	Definition *Definition
	// Name, Scope, Versions and Desired describe a CRD without a Definition.
	Name     string
	Scope    Scope
	Versions []VersionInfo
	Desired  DesiredStatus
	// Status is the status of the CRD, see ReconcileStatus.
	Status Status
}

// Discovery has the discovery documents that an API server serves below /apis for a set of CRDs. It is immutable and
// safe for concurrent use. The documents are JSON as Kubernetes writes it.
type Discovery struct {
	inner *discovery.Discovery
}

// GroupVersion is a version of an API group.
type GroupVersion = schema.GroupVersion

// Discover returns the discovery documents of CRDs, as upstream's discovery controller makes them: the resources of
// established CRDs with their accepted names, in served versions. The objects of a terminating CRD can only be read and
// deleted.
func Discover(crds ...DiscoverableCRD) *Discovery {
	list := make([]discovery.CRD, 0, len(crds))
	for i := range crds {
		c := &crds[i]
		if d := c.Definition; d != nil {
			c = &DiscoverableCRD{Name: d.Name(), Scope: d.scope, Versions: d.versions, Desired: d.desired, Status: c.Status}
		}
		if c.Name == "" {
			continue
		}
		a := discovery.CRD{
			Name: c.Name, Group: c.Desired.Group, Kind: c.Desired.Names.Kind, Namespaced: c.Scope == apiextensionsv1.NamespaceScoped, Status: &c.Status,
			Versions: make([]discovery.Version, len(c.Versions)),
		}
		for k, v := range c.Versions {
			a.Versions[k] = discovery.Version{Name: v.Name, Served: v.Served, Storage: v.Storage, HasStatus: v.HasStatus, HasScale: v.HasScale}
		}
		list = append(list, a)
	}
	return &Discovery{inner: discovery.New(list)}
}

// GroupVersions returns the versions of all groups in the order of GroupList, the preferred version of a group first.
// The caller must not modify the slice.
func (d *Discovery) GroupVersions() []GroupVersion { return d.inner.Versions }

// GroupList returns the APIGroupList of GET /apis. Groups are ordered as in a kube-apiserver: by the first of the names
// of their versions' APIServices, such as v1.stable.example.com.
func (d *Discovery) GroupList() []byte {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: make([]metav1.APIGroup, len(d.inner.Groups))}
	for i, g := range d.inner.Groups {
		g.TypeMeta = metav1.TypeMeta{}
		list.Groups[i] = g
	}
	return published(&list)
}

// Group returns the APIGroup of GET /apis/GROUP with its versions by priority, nil for an unknown group.
func (d *Discovery) Group(name string) []byte {
	for i := range d.inner.Groups {
		if d.inner.Groups[i].Name == name {
			return published(&d.inner.Groups[i])
		}
	}
	return nil
}

// Resources returns the APIResourceList of GET /apis/GROUP/VERSION: resources with their subresources, verbs, short
// names and categories, ordered by the names of the CRDs. It is nil for an unknown version.
func (d *Discovery) Resources(group, version string) []byte {
	list := d.inner.Resources(GroupVersion{Group: group, Version: version})
	if list == nil {
		return nil
	}
	return published(list)
}

// Aggregated returns the apidiscovery.k8s.io/v2 APIGroupDiscoveryList of GET /apis: all groups, sorted by name, in one
// document. etag is its ETag as an API server computes it, without quotes.
func (d *Discovery) Aggregated() (document []byte, etag string) {
	list := d.inner.Aggregated()
	etag = fmt.Sprintf("%X", sha512.Sum512(published(list)))
	list.TypeMeta = metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscoveryv2.SchemeGroupVersion.String()}
	return published(list), etag
}

// published returns the JSON of a document.
func published(document any) []byte {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // cannot fail: the types have only strings, booleans and lists
	}
	return text
}
