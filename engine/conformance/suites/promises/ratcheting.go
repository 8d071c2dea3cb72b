package promises

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// ratcheting creates each object of upstream's ratcheting test, and updates each object to each other object of its
// kind. Every update to a valid object succeeds, and no update from a valid to an invalid one does. The results of the
// other updates are only compared.
func (p *promiser) ratcheting(c *corpus.Corpus) {
	serving := map[string]*both{}
	scopes := map[*both]string{}
	var all []*both
	for _, crd := range c.CRDs {
		if crd.Module != corpus.RatchetingModule {
			continue
		}
		b := p.register("ratcheting: "+crd.Name, crd.Doc)
		if b == nil {
			p.Broken = append(p.Broken, "ratcheting: the definition "+crd.Name+" is rejected")
			continue
		}
		all = append(all, b)
		if doc, err := jsontree.Parse(crd.Doc); err == nil {
			scopes[b], _ = doc.At("spec", "scope").Text()
		}
		for _, v := range crd.Versions {
			serving[crd.Group+"/"+v+" "+crd.Kind] = b
		}
	}
	type object struct {
		corpus.Object
		version string
		body    *jsontree.Node
	}
	byKind := map[*both][]object{}
	for _, o := range c.Ratcheting {
		body, err := jsontree.Parse(o.Doc)
		if err != nil {
			continue
		}
		api, _ := body.Get("apiVersion").Text()
		kind, _ := body.Get("kind").Text()
		b := serving[api+" "+kind]
		if b == nil {
			continue
		}
		identify(body, scopes[b])
		_, version, _ := strings.Cut(api, "/")
		a := b.ask("create "+o.Path, oracle.Request{Version: version, Body: body.JSON()})
		b.expect("create "+o.Path, a.Accepted() == (o.Promise == corpus.Valid), a)
		byKind[b] = append(byKind[b], object{o, version, body})
	}
	for _, b := range all {
		for _, old := range byKind[b] {
			for _, now := range byKind[b] {
				if now.version != old.version {
					continue
				}
				a := b.ask("update of "+old.Path+" to "+now.Path, oracle.Request{Op: oracle.Update, Version: now.version, Body: now.body.JSON(), Old: old.body.JSON()})
				if old.Promise == corpus.Valid {
					b.expect("update of "+old.Path+" to "+now.Path, a.Accepted() == (now.Promise == corpus.Valid), a)
				}
			}
		}
	}
}

// identify gives all objects the same name and stored metadata, so that each can be updated to each other.
func identify(o *jsontree.Node, scope string) {
	m := jsontree.Obj("name", "x", "uid", "1", "resourceVersion", "1", "generation", 1)
	if scope != "Cluster" {
		m.Set("namespace", "default")
	}
	o.Set("metadata", m)
}
