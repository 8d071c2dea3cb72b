package compare

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/internal/value"
)

// Props is a schema as a CRD spells it.
type Props = schema.Props

// walk compares two schemas, node by node.
type walk struct {
	*comparison
	oldKeepsAll, newKeepsAll bool // spec.preserveUnknownFields
	documented               int  // nodes whose description and the like changed
	firstDocumented          value.Path
}

// place is where a node stands, and what that means for it.
type place struct {
	way  value.Path
	root bool
	// meta is the metadata of the root or of an embedded resource, whose fields are known whether the schema has them or not.
	meta bool
	// ruled: a rule that is in both schemas, or just in the new one, sees the value.
	ruled bool
	// joined: a junctor above judges the value as well.
	joined bool
	// mapped: it is within additionalProperties, where nobody checks that defaults are valid.
	mapped bool
	// demanded: the value cannot be null, as the object around it requires it; item: nor does it go away if it is null.
	demanded, item bool
	// oldKeeps and newKeeps: unknown fields of the elements of a list are kept, since those of the list are.
	oldKeeps, newKeeps bool
}

// below is the place of a child.
func (p place) below(segments ...value.Segment) place {
	return place{way: p.way.With(segments...), ruled: p.ruled, joined: p.joined, mapped: p.mapped}
}

// stored is what a constraint that is new means for objects that break it: they stay until the value changes, since updates forgive that.
// Of the root nothing is forgiven.
func (p place) stored() Class {
	if p.root {
		return Breaking
	}
	return Care
}

// seen is what it means for stored objects and writers that rules see a value otherwise, though it is the same.
func (p place) seen() Class {
	if p.ruled {
		return Care
	}
	return Compatible
}

func (p place) at(keyword string) value.Path { return p.way.With(value.Name(keyword)) }

// tightened is the impact of a constraint that asks more than before.
func (p place) tightened() Impact { return Impact{Stored: p.stored(), Writers: Breaking} }

// node compares a node of the spine and everything below it.
func (w *walk) node(old, new *Props, at place) {
	if old == nil || new == nil || !w.step() {
		return
	}
	at.ruled = at.ruled || len(new.XValidations) > 0
	at.joined = at.joined || joined(new)
	w.document(old, new, at)
	if !w.types(old, new, at) {
		return // nothing of what the old schema allowed is left to compare
	}
	w.nullable(old, new, at)
	w.formats(old, new, at)
	w.enum(old, new, at)
	w.bounds(old, new, at)
	w.patterns(old, new, at)
	w.junctors(old, new, at)
	w.defaults(old, new, at)
	w.extensions(old, new, at)
	w.lists(old, new, at)
	w.rules(old, new, at)
	w.required(old, new, at)
	w.members(old, new, at)
	w.items(old, new, at)
}

func joined(s *Props) bool {
	return len(s.AllOf) > 0 || len(s.AnyOf) > 0 || len(s.OneOf) > 0 || s.Not != nil
}

// document counts what is written for people.
func (w *walk) document(old, new *Props, at place) {
	if old.Title == new.Title && old.Description == new.Description && sameJSON(old.Example, new.Example) && reflect.DeepEqual(old.ExternalDocs, new.ExternalDocs) {
		return
	}
	if w.documented == 0 {
		w.firstDocumented = at.way.Clone()
	}
	w.documented++
}

// documentation tells of all that document has counted at once.
func (w *walk) documentation() {
	if w.documented == 0 {
		return
	}
	message := "what the schema says for people"
	if w.documented > 1 {
		message = fmt.Sprintf("what the schema says for people, at %d places", w.documented)
	}
	w.tell(found{kind: DocumentationChanged, at: w.firstDocumented, message: message})
	if last := len(w.Changes) - 1; last >= 0 && w.Changes[last].Kind == DocumentationChanged {
		w.Changes[last].InOld, w.Changes[last].InNew = true, true
	}
}

// extensions compares embedded-resource. preserve-unknown-fields is compared with the members, and int-or-string with the types.
func (w *walk) extensions(old, new *Props, at place) {
	keyword := at.at("x-kubernetes-embedded-resource")
	switch {
	case new.XEmbeddedResource && !old.XEmbeddedResource:
		w.tell(found{kind: EmbeddedResourceAdded, impact: Impact{Stored: Breaking, Writers: Breaking}, at: keyword, new: true,
			message: "apiVersion and kind are required, and metadata is that of Kubernetes: whatever else is in it is dropped"})
	case old.XEmbeddedResource && !new.XEmbeddedResource:
		f := found{kind: EmbeddedResourceRemoved, impact: everybody(Care), at: keyword, old: true,
			message: "apiVersion, kind and metadata are fields like any other: they are neither required nor checked"}
		if w.fate(new, at.newKeeps, w.newKeepsAll) == pruned {
			for _, name := range typeMeta {
				if _, declared := new.Properties[name]; !declared {
					f.impact, f.message = everybody(Breaking), "the schema does not declare "+name+", so that it is pruned"
					break
				}
			}
		}
		w.tell(f)
	}
}

// typeMeta are the fields that every resource has.
var typeMeta = []string{"apiVersion", "kind", "metadata"}

// implied is the schema that a field of a resource has before anybody declares it, nil if there is none.
func implied(s *Props, name string, at place) *Props {
	switch {
	case (at.root || s.XEmbeddedResource) && (name == "apiVersion" || name == "kind"):
		return &Props{Type: "string"}
	case (at.root || s.XEmbeddedResource) && name == "metadata":
		return &Props{Type: "object"}
	case at.meta && (name == "name" || name == "generateName"):
		return &Props{Type: "string"}
	}
	return nil
}

// items compares the schemas of a list's elements.
func (w *walk) items(old, new *Props, at place) {
	var o, n *Props
	if old.Items != nil {
		o = old.Items.Schema
	}
	if new.Items != nil {
		n = new.Items.Schema
	}
	keyword := at.at("items")
	switch {
	case o == nil && n == nil:
	case o == nil:
		w.tell(found{kind: ItemsAdded, impact: Impact{Stored: Care, Writers: Care}, at: keyword, new: struct{}{},
			message: "the elements of lists have a schema: what does not fit is pruned or refused"})
	case n == nil:
		w.tell(found{kind: ItemsRemoved, impact: everybody(Care), at: keyword, old: struct{}{}, message: "the elements of lists have no schema any more"})
	default:
		below := at.below(value.Name("items"))
		below.item = true
		below.oldKeeps, below.newKeeps = at.oldKeeps || keeps(old), at.newKeeps || keeps(new)
		w.node(o, n, below)
	}
}

// demands reports whether an object has to have a member.
func demands(s *Props, name string) bool { return slices.Contains(s.Required, name) }
