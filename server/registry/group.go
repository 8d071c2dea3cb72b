package registry

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/crdeval/crdeval/engine/kubeserver"
)

// group indexes the CRDs of one API group of a catalog by their names. It is immutable.
type group struct {
	waiting immutableMap[string, *crd] // CRDs that other CRDs of the group can affect, by name
	// The names of CRDs by the names that they hold: as a resource, and as a kind.
	resources, kinds immutableMap[string, string]
}

// each calls f for each name that only one CRD of a group can hold.
func (g *group) each(n *apiextensionsv1.CustomResourceDefinitionNames, f func(holders *immutableMap[string, string], name string)) {
	resources, kinds := kubeserver.HeldNames(n)
	for _, name := range resources {
		if name != "" {
			f(&g.resources, name)
		}
	}
	for _, name := range kinds {
		if name != "" {
			f(&g.kinds, name)
		}
	}
}

// add returns the group with one more CRD.
func (g group) add(d *crd) *group {
	g.each(&d.record.Status.AcceptedNames, func(holders *immutableMap[string, string], name string) {
		*holders = holders.Set(name, d.name)
	})
	if d.waits() {
		g.waiting = g.waiting.Set(d.name, d)
	}
	return &g
}

// remove returns the group without one of its CRDs.
func (g group) remove(d *crd) *group {
	g.each(&d.record.Status.AcceptedNames, func(holders *immutableMap[string, string], name string) {
		if holder, _ := holders.Get(name); holder == d.name {
			*holders = holders.Delete(name)
		}
	})
	g.waiting = g.waiting.Delete(d.name)
	return &g
}

func (g *group) empty() bool { return g.waiting.Len()+g.resources.Len()+g.kinds.Len() == 0 }

// group returns a copy of a group, which is empty if the catalog does not have it.
func (c *catalog) group(name string) group {
	if g, ok := c.groups.Get(name); ok {
		return *g
	}
	return group{}
}

// established returns the established CRD with a kind of the group, or nil.
func (c *catalog) established(g *group, kind string) *crd {
	holder, _ := g.kinds.Get(kind)
	d, ok := c.crds.Get(holder)
	if ok && d.established() && d.record.Status.AcceptedNames.Kind == kind { // not only its list kind
		return d
	}
	return nil
}

// waits reports whether other CRDs of the group can affect the status: a wanted name is not accepted, or the CRD is not
// established.
func (c *crd) waits() bool {
	return !c.established() || condition(c.record.Status, namesAccepted).Status != "True" ||
		!equality.Semantic.DeepEqual(&c.record.Status.AcceptedNames, &c.desired().Names)
}

func (c *crd) established() bool { return condition(c.record.Status, established).Status == "True" }

// Types of conditions.
const (
	established   = "Established"
	namesAccepted = "NamesAccepted"
)

// condition returns a condition of a status, without a Status if it is missing.
func condition(s *apiextensionsv1.CustomResourceDefinitionStatus, name string) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range s.Conditions {
		if string(s.Conditions[i].Type) == name {
			return &s.Conditions[i]
		}
	}
	return &apiextensionsv1.CustomResourceDefinitionCondition{}
}
