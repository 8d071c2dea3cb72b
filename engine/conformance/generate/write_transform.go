package generate

import (
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Transforms returns groups whose objects are read from storage, converted, pruned and defaulted. The CRD has a second
// version with a slightly different schema.
func (c *Real) Transforms(r Rand, n int) Group {
	var g Group
	switch r.IntN(5) {
	case 0:
		g = Metadata(r)
	case 1:
		g = Random(r)
	case 2:
		g = c.Sample(r, n)
	default:
		g = Pairwise(r, n)
	}
	g.Name = "transforms of " + g.Name
	crd, err := jsontree.Parse(g.CRD)
	if err != nil {
		return g
	}
	versions := crd.At("spec", "versions").GetItems()
	targets := []string{}
	for _, v := range versions {
		name, _ := v.Get("name").Text()
		targets = append(targets, name)
	}
	if len(versions) == 1 && len(g.CRD) < 32<<10 {
		g.Shared = false
		secondVersion(r, crd)
		targets = append(targets, "v2", "v3")
	}
	g.CRD = crd.JSON()
	for i := range g.Objects {
		o := &g.Objects[i]
		if o.YAML {
			continue
		}
		o.Op = Pick(r, []oracle.Op{oracle.Read, oracle.Read, oracle.Convert, oracle.Prune, oracle.Default})
		o.Target = Pick(r, targets)
		if strategy, _ := crd.At("spec", "conversion", "strategy").Text(); strategy == "Webhook" && (o.Op == oracle.Read || o.Op == oracle.Convert) {
			o.Op = oracle.Prune // no converter exists
		}
	}
	return g
}
