package compare

import (
	"reflect"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Props is a schema as in a CRD.
type Props = schema.Props

// walk compares two schemas node by node.
type walk struct {
	*comparison
	oldPreservesAll, newPreservesAll bool // spec.preserveUnknownFields
	documented                       int  // nodes whose documentation changed
	firstDocumented                  tree.Path
}

// node is the position of a schema node.
type node struct {
	path tree.Path
	root bool
	// meta: it is the metadata of the root or of an embedded resource, whose fields need not be declared.
	meta bool
	// ruled: a rule of the new schema sees the value.
	ruled bool
	// combined: allOf, anyOf, oneOf or not above also validate the value.
	combined bool
	// mapped: it is below additionalProperties, where API servers do not validate defaults.
	mapped bool
	// isRequired: the value is required. item: it is an item of a list. In both cases null is not dropped.
	isRequired, item bool
	// oldPreserves, newPreserves: it is an item of a list that preserves unknown fields.
	oldPreserves, newPreserves bool
}

func (p node) below(segments ...tree.Segment) node {
	return node{path: p.path.With(segments...), ruled: p.ruled, combined: p.combined, mapped: p.mapped}
}

func (p node) at(keyword string) tree.Path { return p.path.With(tree.Name(keyword)) }

// stored is the class of a new constraint for stored objects that violate it. Ratcheting allows them until the value
// changes, except at the root.
func (p node) stored() Class {
	if p.root {
		return Breaking
	}
	return NeedsCare
}

// tightened is the impact of a stricter constraint.
func (p node) tightened() Impact { return Impact{Stored: p.stored(), Writers: Breaking} }

// seen is the impact of a change that affects only how rules see values.
func (p node) seen(readers Class) Impact {
	if p.ruled {
		return Impact{NeedsCare, NeedsCare, readers}
	}
	return Impact{Readers: readers}
}

// node compares two nodes and everything below them.
func (w *walk) node(old, new parts, at node) {
	if len(old) == 0 || len(new) == 0 || !w.step() || w.same(old, new, at) {
		return
	}
	o, n := old[0].Props, new[0].Props
	at.ruled = at.ruled || len(n.XValidations) > 0
	at.combined = at.combined || len(operatorsOf(n)) > 0
	w.document(o, n, at)
	if !w.types(o, n, at) {
		return // no value is valid under both
	}
	old[0].closed = w.isClosed(o, at, at.oldPreserves, w.oldPreservesAll)
	new[0].closed = w.isClosed(n, at, at.newPreserves, w.newPreservesAll)
	p := w.newProof()
	old[0].given, new[0].given = givenBy(o, n, at), givenBy(o, n, at)
	pair := pair{walk: w, at: at, proof: p, old: old, new: new, oldFacts: p.factsOf(old), newFacts: p.factsOf(new)}
	w.nullable(o, n, at)
	pair.constraints()
	w.defaults(o, n, at)
	w.embedded(o, n, at)
	w.listTypes(o, n, at)
	w.rules(o, n, at)
	pair.required()
	w.members(old, new, at)
	w.items(old, new, at)
}

// same reports whether two nodes are equal with everything below them, documentation included.
func (w *walk) same(old, new parts, at node) bool {
	return at.oldPreserves == at.newPreserves && w.oldPreservesAll == w.newPreservesAll &&
		slices.EqualFunc(old, new, func(o, n part) bool { return reflect.DeepEqual(o.Props, n.Props) })
}

// isClosed reports whether objects lose all fields that the schema does not declare.
func (w *walk) isClosed(s *Props, at node, inherited, all bool) bool {
	return !at.root && !at.meta && !s.XEmbeddedResource && w.policy(s, inherited, all) == pruned
}

// document counts nodes whose title, description, example or externalDocs changed.
func (w *walk) document(old, new *Props, at node) {
	if old.Title == new.Title && old.Description == new.Description && sameJSON(old.Example, new.Example) &&
		reflect.DeepEqual(old.ExternalDocs, new.ExternalDocs) {
		return
	}
	if w.documented == 0 {
		w.firstDocumented = at.path.Clone()
	}
	w.documented++
}

// documentation reports what document has counted, as one change.
func (w *walk) documentation() {
	switch {
	case w.documented == 1:
		w.report("DocumentationChanged", harmless, w.firstDocumented, present{}, present{}, "the documentation in the schema")
	case w.documented > 1:
		w.report("DocumentationChanged", harmless, w.firstDocumented, present{}, present{},
			"the documentation in the schema, of %d nodes", w.documented)
	}
}

// embedded compares x-kubernetes-embedded-resource.
func (w *walk) embedded(old, new *Props, at node) {
	keyword := at.at("x-kubernetes-embedded-resource")
	switch {
	case new.XEmbeddedResource && !old.XEmbeddedResource:
		w.report("EmbeddedResourceAdded", breaksWrites, keyword, nil, true,
			"apiVersion and kind are required, and fields of metadata that Kubernetes does not know are dropped")
	case old.XEmbeddedResource && !new.XEmbeddedResource:
		if w.policy(new, at.newPreserves, w.newPreservesAll) == pruned {
			for _, name := range typeMeta {
				if _, declared := new.Properties[name]; !declared {
					w.report("EmbeddedResourceRemoved", breaksAll, keyword, true, nil,
						"the schema does not declare %s, so it is pruned", name)
					return
				}
			}
		}
		w.report("EmbeddedResourceRemoved", careForAll, keyword, true, nil,
			"apiVersion, kind and metadata are ordinary fields: they are neither required nor validated")
	}
}

// typeMeta are the fields that every resource has.
var typeMeta = []string{"apiVersion", "kind", "metadata"}

// implied returns the schema of a field that a resource has without a declaration, or nil.
func implied(s *Props, name string, at node) *Props {
	resource := at.root || s.XEmbeddedResource
	switch {
	case resource && (name == "apiVersion" || name == "kind"), at.meta && (name == "name" || name == "generateName"):
		return &Props{Type: "string"}
	case resource && name == "metadata":
		return &Props{Type: "object"}
	}
	return nil
}

// items compares the schemas of a list's items.
func (w *walk) items(old, new parts, at node) {
	o, n := schema.Items(old[0].Props), schema.Items(new[0].Props)
	keyword := at.at("items")
	switch {
	case o == nil && n == nil:
	case o == nil:
		w.report("ItemsAdded", careForWrites, keyword, nil, struct{}{},
			"the items of lists have a schema: other fields are pruned, and invalid items are rejected")
	case n == nil:
		w.report("ItemsRemoved", careForAll, keyword, struct{}{}, nil, "the items of lists no longer have a schema")
	default:
		below := at.below(tree.Name("items"))
		below.item = true
		below.oldPreserves = at.oldPreserves || schema.Preserves(old[0].Props)
		below.newPreserves = at.newPreserves || schema.Preserves(new[0].Props)
		w.node(append(partsOf(o, below.path), old.inClauses(nil)...), append(partsOf(n, below.path), new.inClauses(nil)...), below)
	}
}
