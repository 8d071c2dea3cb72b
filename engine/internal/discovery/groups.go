// Package discovery makes the discovery documents that an API server publishes of CRDs.
package discovery

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// CRD is a CRD as discovery needs it.
type CRD struct {
	// Name is the CRD's, crontabs.stable.example.com; it orders what an API server leaves without an order.
	Name  string
	Group string
	// Kind is the one that the CRD asks for, which hashes of storage versions are made of; all other names are the accepted ones of Status.
	Kind       string
	Namespaced bool
	Versions   []Version
	Status     *apiextensionsv1.CustomResourceDefinitionStatus
}

// Version is one version of it.
type Version struct {
	Name                                 string
	Served, Storage, HasStatus, HasScale bool
}

// Discovery is what an API server publishes of its CRDs.
//
// Upstream: apiserver/customresource_discovery_controller.go.
type Discovery struct {
	// Groups are those with a CRD that is established and served, in the order in which a kube-apiserver lists them at /apis: by the
	// names of their versions' APIServices, v1.stable.example.com. The first version of each is the preferred one.
	Groups []metav1.APIGroup
	// Versions are all versions of all groups, in the order of Groups.
	Versions []schema.GroupVersion

	crds map[string][]*CRD // the established ones of each group, by name
}

// New finds out what is published of the CRDs: of those that are established, whatever else is the matter with them.
func New(list []CRD) *Discovery {
	d := &Discovery{crds: map[string][]*CRD{}}
	for i := range list {
		if c := &list[i]; c.is(apiextensionsv1.Established) && slices.ContainsFunc(c.Versions, served) {
			d.crds[c.Group] = append(d.crds[c.Group], c)
		}
	}
	services := make(map[string]string, len(d.crds)) // the first of each group's
	for group, crds := range d.crds {
		slices.SortStableFunc(crds, func(a, b *CRD) int { return strings.Compare(a.Name, b.Name) })
		services[group] = firstService(group, crds)
	}
	order := slices.SortedFunc(maps.Keys(d.crds), func(a, b string) int {
		return cmp.Or(strings.Compare(services[a], services[b]), strings.Compare(a, b))
	})
	for _, name := range order {
		g := groupOf(name, d.crds[name])
		for _, v := range g.Versions {
			d.Versions = append(d.Versions, schema.GroupVersion{Group: name, Version: v.Version})
		}
		d.Groups = append(d.Groups, g)
	}
	return d
}

func served(v Version) bool { return v.Served }

func (c *CRD) is(condition apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	if c.Status == nil {
		return false
	}
	for i := range c.Status.Conditions {
		if x := &c.Status.Conditions[i]; x.Type == condition {
			return x.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// versionsOf names the served versions of a group, the preferred one first.
func versionsOf(crds []*CRD) []string {
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

// firstService is the name of the APIService by which the group is sorted among groups: all those of CRDs have one priority.
func firstService(group string, crds []*CRD) string {
	return slices.Min(versionsOf(crds)) + "." + group
}

func groupOf(name string, crds []*CRD) metav1.APIGroup {
	g := metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: name}
	for _, v := range versionsOf(crds) {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}
