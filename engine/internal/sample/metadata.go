package sample

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// metadata returns valid metadata of an object. Its maps are absent, empty or filled.
func (g *Generator) metadata(r Random) *Tree {
	m := object().named("metadata")
	m.set("name", g.name(r))
	if g.options.Namespaced {
		m.set("namespace", text(pick(r, []string{"default", "ns-1"}[:g.upTo(1, 2)])))
	}
	if g.plain() {
		return m
	}
	if r.chance(70) {
		m.set("uid", text(fmt.Sprintf("%08x-0000-4000-8000-%012x", r.Uint32(), r.Uint32())))
		m.set("resourceVersion", text(fmt.Sprint(r.IntN(1e6)+1)))
		m.set("creationTimestamp", text("2024-02-29T12:00:00Z"))
	}
	m.set("generation", &Tree{Kind: tree.Int, Text: fmt.Sprint(r.IntN(9) + 1)})
	g.mapOf(r, m, "labels", g.labels)
	g.mapOf(r, m, "annotations", g.annotations)
	if r.chance(15) {
		m.set("finalizers", array(text("example.com/finalizer")))
	}
	if r.chance(15) {
		m.set("ownerReferences", array(object().with("apiVersion", text("apps/v1")).with("kind", text("Deployment")).
			with("name", text("owner")).with("uid", text("11111111-2222-4333-8444-555555555555"))))
	}
	if r.chance(10) {
		m.set("managedFields", array(object().with("manager", text("kubectl")).with("operation", text("Apply")).
			with("apiVersion", text(g.options.APIVersion)).with("time", text("2024-02-29T12:00:00Z")).
			with("fieldsType", text("FieldsV1")).with("fieldsV1", object().with("f:spec", object()))))
	}
	return m
}

// mapOf sets a map of metadata to an empty object or to what fill returns, or does not set it.
func (g *Generator) mapOf(r Random, m *Tree, name string, fill func(Random) *Tree) {
	switch k := r.IntN(10); {
	case k < 2:
		m.set(name, object())
	case k < 6:
		m.set(name, fill(r))
	}
}

func (g *Generator) name(r Random) *Tree {
	if meta := g.root.property("metadata"); meta != nil {
		if n := meta.property("name"); n != nil {
			n = n.choose(r)
			for range 8 {
				if name := pick(r, objectNames); stringFits(n, name) {
					return text(name)
				}
			}
			return g.text(r, n)
		}
	}
	return text(pick(r, objectNames))
}

var objectNames = []string{"x", "my-object", "a.b", "default", "main", "cluster"}

func (g *Generator) labels(r Random) *Tree {
	o := object()
	for range r.between(1, 3) {
		o.set(pick(r, []string{"app", "example.com/part", "tier", "x.y"}), text(pick(r, []string{"", "a", "web", "A.b_c-1"})))
	}
	return o
}

func (g *Generator) annotations(r Random) *Tree {
	o := object()
	for range r.between(1, 3) {
		o.set(pick(r, []string{"note", "example.com/config", "a.b/c", "UPPER"}), text(pick(r, []string{"", "x", "ä 日本語", "{\"a\":[1]}\n", "line\nbreak"})))
	}
	return o
}
