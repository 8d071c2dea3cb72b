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

// DiscoverableCRD is a CRD and what it has come to: names are accepted, and it is established, by its status.
type DiscoverableCRD struct {
	// Definition is the CRD; one that is nil is left out, unless there is a Name.
	Definition *Definition
	// Name, Scope, Versions and Standing say the same of a CRD without compiling it, for who keeps them: Definition.Name and so on. They
	// count where there is no Definition.
	Name     string
	Scope    Scope
	Versions []VersionInfo
	Desired  DesiredStatus
	// Status is the status of the CRD, as Settle leaves it.
	Status Status
}

// Discovery is what an API server publishes about the CRDs of a catalog: the documents below /apis. It is immutable and safe for any number of
// goroutines. The documents are Kubernetes' own JSON.
type Discovery struct {
	inner *discovery.Discovery
}

// GroupVersion is a version of an API group.
type GroupVersion = schema.GroupVersion

// Discover finds out what is published about CRDs, as upstream's discovery controller does: the resources of CRDs that are established, under
// their accepted names, at the versions that they serve. A CRD that is terminating can be read and deleted from alone.
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

// GroupVersions lists the versions of all groups in the order of GroupList; the preferred version of a group comes first. The caller must not change
// the slice.
func (d *Discovery) GroupVersions() []GroupVersion { return d.inner.Versions }

// GroupList is the APIGroupList of GET /apis, in the order in which a kube-apiserver has the groups of CRDs: by the first of the names of their
// versions' APIServices, such as v1.stable.example.com.
func (d *Discovery) GroupList() []byte {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: make([]metav1.APIGroup, len(d.inner.Groups))}
	for i, g := range d.inner.Groups {
		g.TypeMeta = metav1.TypeMeta{}
		list.Groups[i] = g
	}
	return published(&list)
}

// Group is the APIGroup of GET /apis/GROUP: its versions by priority, the preferred one first. It is nil for a group of which nothing is published.
func (d *Discovery) Group(name string) []byte {
	for i := range d.inner.Groups {
		if d.inner.Groups[i].Name == name {
			return published(&d.inner.Groups[i])
		}
	}
	return nil
}

// Resources is the APIResourceList of GET /apis/GROUP/VERSION: resources with their subresources, verbs, short names and categories, those of one CRD after those of
// another in the order of their names. It is nil for a version of which nothing is published.
func (d *Discovery) Resources(group, version string) []byte {
	list := d.inner.Resources(GroupVersion{Group: group, Version: version})
	if list == nil {
		return nil
	}
	return published(list)
}

// Aggregated is the APIGroupDiscoveryList, of apidiscovery.k8s.io/v2, of GET /apis for clients that accept it: everything in one document, groups in the order of
// their names. etag is its ETag as an API server makes it, without quotes.
func (d *Discovery) Aggregated() (document []byte, etag string) {
	list := d.inner.Aggregated()
	etag = fmt.Sprintf("%X", sha512.Sum512(published(list)))
	list.TypeMeta = metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscoveryv2.SchemeGroupVersion.String()}
	return published(list), etag
}

// published is a document as JSON.
func published(document any) []byte {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // the types of these documents have texts, booleans and lists of them alone
	}
	return text
}
