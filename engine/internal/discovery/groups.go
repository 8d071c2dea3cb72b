// Package discovery builds the discovery documents that an API server publishes for CRDs.
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

// CRD holds the fields of a CRD that discovery needs.
type CRD struct {
	// Name is the name of the CRD, crontabs.stable.example.com. It orders resources for which an API server has no
	// order.
	Name  string
	Group string
	// Kind is the kind in the spec, which is part of storage version hashes. All other names are the accepted names in
	// Status.
	Kind       string
	Namespaced bool
	Versions   []Version
	Status     *apiextensionsv1.CustomResourceDefinitionStatus
}

// Version is one version of a CRD.
type Version struct {
	Name                                 string
	Served, Storage, HasStatus, HasScale bool
}

// Discovery holds the discovery data of a set of CRDs.
//
// Upstream: apiserver/customresource_discovery_controller.go.
type Discovery struct {
	// Groups lists the groups with an established and served CRD in the order of kube-apiserver at /apis: by the names
	// of their APIServices, v1.stable.example.com. The first version of a group is the preferred one.
	Groups []metav1.APIGroup
	// Versions lists all versions of all groups in the order of Groups.
	Versions []schema.GroupVersion

	crds map[string][]*CRD // established CRDs of each group, sorted by name
}

// New returns the discovery data of the established CRDs in the list.
func New(list []CRD) *Discovery {
	d := &Discovery{crds: map[string][]*CRD{}}
	for i := range list {
		if c := &list[i]; c.is(apiextensionsv1.Established) && slices.ContainsFunc(c.Versions, served) {
			d.crds[c.Group] = append(d.crds[c.Group], c)
		}
	}
	services := make(map[string]string, len(d.crds)) // first APIService of each group
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

// versionsOf returns the served versions of a group, the preferred one first.
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

// firstService returns the name of the APIService that orders the group. All APIServices of CRDs have the same
// priority.
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
