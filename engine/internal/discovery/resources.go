package discovery

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Verbs of objects, of objects of a terminating CRD, and of subresources. Read-only.
var (
	allVerbs         = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	terminatingVerbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
	subresourceVerbs = metav1.Verbs{"get", "patch", "update"}
)

func (c *CRD) verbs() metav1.Verbs {
	if c.is(apiextensionsv1.Terminating) {
		return terminatingVerbs
	}
	return allVerbs
}

// at returns the version with the name if it is served, or nil.
func (c *CRD) at(name string) *Version {
	for i := range c.Versions {
		if v := &c.Versions[i]; v.Served && v.Name == name {
			return v
		}
	}
	return nil
}

// storageHash returns the hash of the storage version. As in upstream, it is "" if that version is not served.
//
// Upstream: endpoints/discovery/storageversionhash.go.
func (c *CRD) storageHash() string {
	i := slices.IndexFunc(c.Versions, func(v Version) bool { return v.Storage && v.Served })
	if i < 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(c.Group + "/" + c.Versions[i].Name + "/" + c.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// Resources returns the resources of a version, ordered by CRD name, or nil if there are none. An API server does not
// order the CRDs.
func (d *Discovery) Resources(of schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: of.String()}
	for _, c := range d.crds[of.Group] {
		v := c.at(of.Version)
		if v == nil {
			continue
		}
		names := &c.Status.AcceptedNames
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: names.Plural, SingularName: names.Singular, Namespaced: c.Namespaced, Kind: names.Kind, Verbs: c.verbs(),
			ShortNames: names.ShortNames, Categories: names.Categories, StorageVersionHash: c.storageHash(),
		})
		if v.HasStatus {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: names.Plural + "/status", Namespaced: c.Namespaced, Kind: names.Kind, Verbs: subresourceVerbs,
			})
		}
		if v.HasScale {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Group: autoscalingv1.GroupName, Version: "v1", Kind: "Scale", Name: names.Plural + "/scale", Namespaced: c.Namespaced, Verbs: subresourceVerbs,
			})
		}
	}
	if list.APIResources == nil {
		return nil
	}
	return list
}

// Aggregated returns the APIGroupDiscoveryList of /apis with groups and resources sorted by name. It has no TypeMeta,
// because the ETag is computed without it.
//
// Upstream: endpoints/discovery/aggregated/handler.go, where all CRDs have one priority.
func (d *Discovery) Aggregated() *apidiscoveryv2.APIGroupDiscoveryList {
	list := &apidiscoveryv2.APIGroupDiscoveryList{Items: make([]apidiscoveryv2.APIGroupDiscovery, 0, len(d.Groups))}
	for _, g := range d.Groups {
		group := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
		for _, v := range g.Versions {
			group.Versions = append(group.Versions, apidiscoveryv2.APIVersionDiscovery{
				Version: v.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent, Resources: d.discovered(schema.GroupVersion{Group: g.Name, Version: v.Version}),
			})
		}
		list.Items = append(list.Items, group)
	}
	slices.SortFunc(list.Items, func(a, b apidiscoveryv2.APIGroupDiscovery) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (d *Discovery) discovered(of schema.GroupVersion) (list []apidiscoveryv2.APIResourceDiscovery) {
	for _, c := range d.crds[of.Group] {
		v := c.at(of.Version)
		if v == nil {
			continue
		}
		names := &c.Status.AcceptedNames
		kind := func() *metav1.GroupVersionKind {
			return &metav1.GroupVersionKind{Group: of.Group, Version: of.Version, Kind: names.Kind}
		}
		r := apidiscoveryv2.APIResourceDiscovery{
			Resource: names.Plural, SingularResource: names.Singular, Scope: apidiscoveryv2.ScopeCluster, ResponseKind: kind(),
			Verbs: c.verbs(), ShortNames: names.ShortNames, Categories: names.Categories,
		}
		if c.Namespaced {
			r.Scope = apidiscoveryv2.ScopeNamespace
		}
		if v.HasStatus {
			r.Subresources = append(r.Subresources, apidiscoveryv2.APISubresourceDiscovery{
				Subresource: "status", ResponseKind: kind(), Verbs: subresourceVerbs,
			})
		}
		if v.HasScale {
			r.Subresources = append(r.Subresources, apidiscoveryv2.APISubresourceDiscovery{
				Subresource: "scale", ResponseKind: &metav1.GroupVersionKind{Group: autoscalingv1.GroupName, Version: "v1", Kind: "Scale"}, Verbs: subresourceVerbs,
			})
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b apidiscoveryv2.APIResourceDiscovery) int { return strings.Compare(a.Resource, b.Resource) })
	return list
}
