package generate

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// Real generates groups from the corpus.
type Real struct {
	corpus *corpus.Corpus
	crds   []*jsontree.Node
	docs   [][]byte
	small  []*jsontree.Node // also without descriptions: the source of CRD mutants
	sites  []int            // number of mutations before each CRD
	ruled  []ruleSite       // schemas with rules
}

// NewReal prepares a corpus. It removes the descriptions from CRDs that will be mutated.
func NewReal(c *corpus.Corpus) (*Real, error) {
	real := &Real{corpus: c}
	total := 0
	for _, crd := range c.CRDs {
		doc, err := jsontree.Parse(crd.Doc)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", crd.Path, crd.Module, err)
		}
		real.crds = append(real.crds, doc)
		real.docs = append(real.docs, doc.JSON())
		s := doc.Clone()
		withoutTexts(s)
		real.small = append(real.small, s)
		real.sites = append(real.sites, total)
		total += s.Size() - 1
		n := 0
		s.Walk(func(node, parent *jsontree.Node, index int) {
			if node.Kind == jsontree.Array && parent.Kind == jsontree.Object && parent.Members[index].Key == "x-kubernetes-validations" {
				real.ruled = append(real.ruled, ruleSite{len(real.small) - 1, n})
			}
			n++
		})
	}
	real.sites = append(real.sites, total)
	return real, nil
}

// Samples is the number of sample objects.
func (c *Real) Samples() int { return len(c.corpus.Samples) }

// Definitions is the number of CRDs.
func (c *Real) Definitions() int { return len(c.docs) }

// Definition returns the group of one unchanged CRD.
func (c *Real) Definition(i int) Group {
	i %= len(c.docs)
	return Group{Name: "definition " + c.corpus.CRDs[i].Name + " of " + c.corpus.CRDs[i].Module, CRD: c.docs[i], Shared: true}
}

// Sample returns the group of one sample: the object, single mutations of it and a few double ones.
func (c *Real) Sample(r Rand, i int) Group {
	s := c.corpus.Samples[i%len(c.corpus.Samples)]
	crd := Pick(r, s.CRDs)
	g := Group{Name: "sample " + s.Path + " of " + s.Module, CRD: c.docs[crd], Shared: true}
	g.Objects = append(g.Objects, Object{Version: s.Version, Body: s.Doc})
	doc, err := jsontree.Parse(s.Doc)
	if err != nil {
		return g
	}
	scope, _ := c.crds[crd].At("spec", "scope").Text()
	identify(doc, scope)
	g.Objects = append(g.Objects, Object{Version: s.Version, Body: doc.JSON()})
	for n := range 6 {
		o := doc.Clone()
		for range 1 + n/5 {
			Mutate(r, o)
		}
		q := request(r, o)
		q.Version = s.Version
		g.Objects = append(g.Objects, q)
	}
	return g
}

// identify adds what kubectl would add to a manifest: a name, and a namespace for namespaced resources.
func identify(doc *jsontree.Node, scope string) {
	meta := doc.Get("metadata")
	if meta == nil || meta.Kind != jsontree.Object {
		return
	}
	if meta.Get("name") == nil {
		meta.Set("name", "x")
	}
	switch {
	case scope == "Cluster":
		meta.Delete("namespace")
	case meta.Get("namespace") == nil:
		meta.Set("namespace", "default")
	}
}

// Generated returns a group of objects generated from a real schema, with zero, one and two defects.
func (c *Real) Generated(r Rand, i int) Group {
	i %= len(c.docs)
	g := Group{Name: "generated " + c.corpus.CRDs[i].Name, CRD: c.docs[i], Shared: true}
	crd := c.crds[i]
	versions := crd.At("spec", "versions").GetItems()
	if len(versions) == 0 {
		return g
	}
	v := Pick(r, versions)
	name, _ := v.Get("name").Text()
	schema := v.At("schema", "openAPIV3Schema")
	if schema == nil || !v.Get("served").IsTrue() {
		return g
	}
	groupName, _ := crd.At("spec", "group").Text()
	kindName, _ := crd.At("spec", "names", "kind").Text()
	for n := range 8 {
		o := jsontree.Obj("apiVersion", groupName+"/"+name, "kind", kindName, "metadata", jsontree.Obj("name", "x"))
		scope, _ := crd.At("spec", "scope").Text()
		identify(o, scope)
		for _, m := range Value(r, schema, r.Between(3, 7)).Members {
			if o.Get(m.Key) == nil {
				o.Members = append(o.Members, m)
			}
		}
		Break(r, schema, o, n%3)
		q := request(r, o)
		q.Version = name
		g.Objects = append(g.Objects, q)
	}
	return g
}

// SchemaSuite returns the group of one case of the JSON Schema suite: the schema, completed to a structural one, and
// its data.
func (c *Real) SchemaSuite(i int) Group {
	k := c.corpus.Schemas[i%len(c.corpus.Schemas)]
	g := Group{Name: "jsonschema " + k.Name}
	schema, err := jsontree.Parse(k.Schema)
	if err != nil {
		return g
	}
	eachSchema(schema, func(n *jsontree.Node) {
		if n.Get("type") == nil && n.Get("x-kubernetes-int-or-string") == nil {
			n.Set("x-kubernetes-preserve-unknown-fields", true)
		}
	})
	for _, j := range []string{"allOf", "anyOf", "oneOf"} {
		if b := schema.Get(j); b != nil {
			for _, e := range b.Items {
				eachSchema(e, func(n *jsontree.Node) { n.Delete("x-kubernetes-preserve-unknown-fields") })
			}
		}
	}
	eachSchema(schema.Get("not"), func(n *jsontree.Node) { n.Delete("x-kubernetes-preserve-unknown-fields") })
	g.CRD = Manifest(rootOf("v", schema)).JSON()
	g.Objects = []Object{{Version: version1, Body: Envelope(jsontree.Member{Key: "v", Value: jsontree.Raw(string(k.Data))}).JSON()}}
	return g
}

// SchemaCases is the number of cases in the JSON Schema suite.
func (c *Real) SchemaCases() int { return len(c.corpus.Schemas) }
