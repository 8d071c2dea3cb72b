package publish

import (
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/crdeval/crdeval/engine"
)

// Discovery has the discovery documents that an API server serves below /apis for a set of CRDs. It is immutable and
// safe for concurrent use. The documents are JSON as Kubernetes writes it.
//
// Upstream: apiserver/customresource_discovery_controller.go.
type Discovery struct {
	groups   []metav1.APIGroup // in the order of GroupList
	versions []schema.GroupVersion
	crds     map[string][]*CRD // established CRDs of each group, sorted by name
}

// Discover returns the discovery documents of CRDs, as upstream's discovery controller makes them: the resources of
// established CRDs with their accepted names, in served versions. The objects of a terminating CRD can only be read and
// deleted.
func Discover(crds ...CRD) *Discovery {
	d := &Discovery{crds: map[string][]*CRD{}}
	for _, c := range crds {
		if c.Name != "" && c.is(apiextensionsv1.Established) && slices.ContainsFunc(c.Versions, isServed) {
			d.crds[c.Group] = append(d.crds[c.Group], &c)
		}
	}
	services := make(map[string]string, len(d.crds)) // the first APIService of each group; all have the same priority
	for group, crds := range d.crds {
		slices.SortStableFunc(crds, func(a, b *CRD) int { return strings.Compare(a.Name, b.Name) })
		services[group] = slices.Min(servedVersions(crds)) + "." + group
	}
	order := slices.SortedFunc(maps.Keys(d.crds), func(a, b string) int {
		return cmp.Or(strings.Compare(services[a], services[b]), strings.Compare(a, b))
	})
	for _, name := range order {
		g := metav1.APIGroup{Name: name}
		for _, v := range servedVersions(d.crds[name]) {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
			d.versions = append(d.versions, schema.GroupVersion{Group: name, Version: v})
		}
		g.PreferredVersion = g.Versions[0]
		d.groups = append(d.groups, g)
	}
	return d
}

// servedVersions returns the served versions of the CRDs of a group, the preferred one first.
func servedVersions(crds []*CRD) []string {
	var names []string
	for _, c := range crds {
		for _, v := range c.Versions {
			if v.Served {
				names = append(names, v.Name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	return slices.Compact(names)
}

// GroupVersions returns the versions of all groups in the order of GroupList, the preferred version of a group first.
// The caller must not modify the slice.
func (d *Discovery) GroupVersions() []schema.GroupVersion { return d.versions }

// GroupList returns the APIGroupList of GET /apis. Groups are ordered as in a kube-apiserver: by the first of the names
// of their versions' APIServices, such as v1.stable.example.com.
func (d *Discovery) GroupList() []byte {
	groups := append([]metav1.APIGroup{}, d.groups...) // [] instead of null
	return published(&metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: groups})
}

// Group returns the APIGroup of GET /apis/GROUP with its versions by priority, nil for an unknown group.
func (d *Discovery) Group(name string) []byte {
	for _, g := range d.groups {
		if g.Name == name {
			g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			return published(&g)
		}
	}
	return nil
}

// Resources returns the APIResourceList of GET /apis/GROUP/VERSION: resources with their subresources, verbs, short
// names and categories, ordered by the names of the CRDs. It is nil for an unknown version.
func (d *Discovery) Resources(group, version string) []byte {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: group + "/" + version,
		APIResources: d.resources(group, version),
	}
	if list.APIResources == nil {
		return nil
	}
	return published(&list)
}

func (d *Discovery) resources(group, version string) (list []metav1.APIResource) {
	for _, c := range d.crds[group] {
		i := slices.IndexFunc(c.Versions, func(v engine.VersionInfo) bool { return v.Served && v.Name == version })
		if i < 0 {
			continue
		}
		names := &c.Status.AcceptedNames
		r := metav1.APIResource{
			Name: names.Plural, SingularName: names.Singular, Namespaced: c.Scope == apiextensionsv1.NamespaceScoped, Kind: names.Kind,
			Verbs:      metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"},
			ShortNames: names.ShortNames, Categories: names.Categories, StorageVersionHash: c.storageHash(),
		}
		if c.is(apiextensionsv1.Terminating) {
			r.Verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
		}
		list = append(list, r)
		sub := metav1.APIResource{Namespaced: r.Namespaced, Kind: r.Kind, Verbs: metav1.Verbs{"get", "patch", "update"}}
		if c.Versions[i].HasStatus {
			sub.Name = r.Name + "/status"
			list = append(list, sub)
		}
		if c.Versions[i].HasScale {
			sub.Name, sub.Group, sub.Version, sub.Kind = r.Name+"/scale", autoscalingv1.GroupName, "v1", "Scale"
			list = append(list, sub)
		}
	}
	return list
}

// storageHash returns the hash of the storage version. As in upstream, it is "" if that version is not served.
//
// Upstream: endpoints/discovery/storageversionhash.go.
func (c *CRD) storageHash() string {
	i := slices.IndexFunc(c.Versions, func(v engine.VersionInfo) bool { return v.Storage && v.Served })
	if i < 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(c.Group + "/" + c.Versions[i].Name + "/" + c.Names.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// Aggregated returns the apidiscovery.k8s.io/v2 APIGroupDiscoveryList of GET /apis: all groups, and their resources,
// sorted by name, in one document. etag is its ETag as an API server computes it, without quotes.
//
// Upstream: endpoints/discovery/aggregated/handler.go, where all CRDs have one priority.
func (d *Discovery) Aggregated() (document []byte, etag string) {
	list := &apidiscoveryv2.APIGroupDiscoveryList{Items: make([]apidiscoveryv2.APIGroupDiscovery, 0, len(d.groups))}
	for _, g := range d.groups {
		group := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
		for _, v := range g.Versions {
			group.Versions = append(group.Versions, apidiscoveryv2.APIVersionDiscovery{
				Version: v.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent, Resources: aggregated(g.Name, v.Version, d.resources(g.Name, v.Version)),
			})
		}
		list.Items = append(list.Items, group)
	}
	slices.SortFunc(list.Items, func(a, b apidiscoveryv2.APIGroupDiscovery) int { return strings.Compare(a.Name, b.Name) })
	etag = fmt.Sprintf("%X", sha512.Sum512(published(list))) // without TypeMeta
	list.TypeMeta = metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscoveryv2.SchemeGroupVersion.String()}
	return published(list), etag
}

// aggregated returns the resources of a version in the form of the aggregated document.
func aggregated(group, version string, resources []metav1.APIResource) (list []apidiscoveryv2.APIResourceDiscovery) {
	for _, r := range resources {
		kind := &metav1.GroupVersionKind{Group: cmp.Or(r.Group, group), Version: cmp.Or(r.Version, version), Kind: r.Kind}
		if _, subresource, ok := strings.Cut(r.Name, "/"); ok {
			of := &list[len(list)-1]
			of.Subresources = append(of.Subresources, apidiscoveryv2.APISubresourceDiscovery{
				Subresource: subresource, ResponseKind: kind, Verbs: r.Verbs,
			})
			continue
		}
		scope := apidiscoveryv2.ScopeCluster
		if r.Namespaced {
			scope = apidiscoveryv2.ScopeNamespace
		}
		list = append(list, apidiscoveryv2.APIResourceDiscovery{
			Resource: r.Name, SingularResource: r.SingularName, Scope: scope, ResponseKind: kind, Verbs: r.Verbs,
			ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	slices.SortStableFunc(list, func(a, b apidiscoveryv2.APIResourceDiscovery) int { return strings.Compare(a.Resource, b.Resource) })
	return list
}

// published returns the JSON of a document.
func published(document any) []byte {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // cannot fail: the types have only strings, booleans and lists
	}
	return text
}
