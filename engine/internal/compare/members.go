package compare

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/internal/value"
)

// fate is what becomes of a field that an object's schema does not declare.
type fate uint8

const (
	pruned    fate = iota
	kept           // as it is
	governed       // by the schema of additionalProperties
	emptied        // additionalProperties: true: it stays, but objects in it lose all that they have
	forbidden      // additionalProperties: false
)

func keeps(s *Props) bool { return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields }

// fate of the fields that s does not declare; inherited: the list around it keeps what it does not know; all: the CRD does.
func (w *walk) fate(s *Props, inherited, all bool) fate {
	switch a := s.AdditionalProperties; {
	case a == nil && (all || inherited || keeps(s)):
		return kept
	case a == nil:
		return pruned
	case a.Schema != nil:
		return governed
	case !a.Allows:
		return forbidden
	case all:
		return kept
	}
	return emptied
}

func valueSchema(s *Props) *Props {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

// required compares what an object has to have.
func (w *walk) required(old, new *Props, at place) {
	keyword := at.at("required")
	seen := map[string]bool{}
	for i, name := range new.Required {
		if seen[name] || demands(old, name) {
			continue
		}
		seen[name] = true
		p, declared := new.Properties[name]
		f := found{kind: RequiredAdded, at: keyword.With(value.At(i)), oldAt: keyword, new: name,
			impact: Impact{Stored: Breaking, Writers: Breaking}, message: name + " is required: objects without it are refused"}
		switch {
		case at.root && implied(new, name, at) != nil:
			f.impact, f.message = Impact{}, name+" is required, which every object has"
		case declared && hasDefault(&p):
			f.impact, f.message = Impact{}, name+" is required, and filled in with its default"
		case !declared && w.fate(new, at.newKeeps, w.newKeepsAll) == pruned && implied(new, name, at) == nil:
			f.message = name + " is required, but pruned: every object is refused"
		}
		w.tell(f)
	}
	clear(seen)
	for i, name := range old.Required {
		if !seen[name] && !demands(new, name) {
			seen[name] = true
			w.tell(found{kind: RequiredRemoved, impact: Impact{Readers: Care}, at: keyword, oldAt: keyword.With(value.At(i)), old: name,
				message: name + " may be missing: readers have to expect that"})
		}
	}
}

// members compares the fields of an object, declared ones and others.
func (w *walk) members(old, new *Props, at place) {
	was, is := w.fate(old, at.oldKeeps, w.oldKeepsAll), w.fate(new, at.newKeeps, w.newKeepsAll)
	names := schema.Names(old.Properties)
	for _, name := range schema.Names(new.Properties) {
		if _, both := old.Properties[name]; !both {
			names = append(names, name)
		}
	}
	if len(names) > len(old.Properties) {
		set := make(map[string]struct{}, len(names))
		for _, name := range names {
			set[name] = struct{}{}
		}
		names = schema.Names(set)
	}
	for _, name := range names {
		o, before := old.Properties[name]
		n, after := new.Properties[name]
		below := at.below(value.Name("properties"), value.Name(name))
		below.demanded = demands(new, name)
		below.meta = name == "metadata" && (at.root || new.XEmbeddedResource)
		guess := implied(old, name, at)
		switch {
		case before && after:
			w.node(&o, &n, below)
		case after && guess != nil:
			w.node(guess, &n, below)
		case after && was == governed:
			w.node(valueSchema(old), &n, below)
		case after:
			w.added(&n, new, was, at, below)
		case implied(new, name, at) != nil:
			w.node(&o, implied(new, name, at), below)
		case is == governed:
			w.node(&o, valueSchema(new), below)
		default:
			w.gone(&o, is, at, below)
		}
	}
	w.others(old, new, was, is, at)
}

// added tells of a property that the old schema did not declare; was is what became of it.
func (w *walk) added(p, parent *Props, was fate, at, below place) {
	f := found{kind: PropertyAdded, at: below.way, new: p}
	switch {
	case at.meta:
		f.impact, f.message = Impact{Stored: Care, Writers: Care}, "metadata that objects have already is checked"
	case was == kept || was == emptied:
		f.impact = Impact{Stored: Care, Writers: Care}
		f.message = "objects may have the field already, as it was kept unchecked: what does not fit is pruned or refused"
	case hasDefault(p) && (at.mapped || w.misjudged(p)):
		f.impact = Impact{Stored: Care, Writers: Care}
		f.message = "the field is new, and objects have its default when they are read: look whether it is valid, which API servers do not there"
	case hasDefault(p) && (at.joined || at.ruled || parent.MaxProperties != nil):
		f.impact = Impact{Stored: Care, Writers: Care}
		f.message = "the field is new, and objects have its default when they are read: look whether bounds, junctors and rules around it allow that"
	case hasDefault(p):
		f.message = "the field is new; objects have its default when they are read"
	default:
		f.message = "the field is new"
	}
	w.tell(f)
}

// misjudged reports whether a default may be accepted that is not valid: API servers judge defaults by formats that they leave out when they judge
// objects.
func (w *walk) misjudged(p *Props) bool {
	return schema.Any(p, func(s *Props) bool { return s.Format != "" && !w.knows(s) })
}

// gone tells of a property that the new schema does not declare; is is what becomes of it.
func (w *walk) gone(p *Props, is fate, at, below place) {
	f := found{kind: PropertyRemoved, at: below.way, old: p, impact: everybody(Breaking)}
	switch {
	case at.meta:
		f.impact, f.message = Impact{Stored: at.seen(), Writers: at.seen()}, "the field is not checked any more"
	case is == pruned:
		f.message = "the field is pruned: readers do not find it, writes drop it, and what is stored is lost with the next write"
	case is == forbidden:
		f.message = "objects with the field are refused"
	case is == emptied && w.kindsOf(p)&(objects|lists) != 0:
		f.message = "the field stays, but objects in it lose all that they have"
	default:
		f.impact = Impact{Stored: at.seen(), Writers: at.seen(), Readers: Care}
		f.message = "the field is kept, but neither checked nor defaulted"
	}
	w.tell(f)
}

// others compares what becomes of fields that are not declared.
func (w *walk) others(old, new *Props, was, is fate, at place) {
	keyword := at.at("additionalProperties")
	if was == governed && is == governed {
		below := at.below(value.Name("additionalProperties"))
		below.mapped = true
		w.node(valueSchema(old), valueSchema(new), below)
		return
	}
	w.keeping(old, new, was, is, at)
	if was == is || was != governed && was != emptied && was != forbidden && is != governed && is != emptied && is != forbidden {
		return
	}
	f := found{kind: MapValuesChanged, at: keyword}
	if old.AdditionalProperties != nil {
		f.old = old.AdditionalProperties
	} else {
		f.kind = MapValuesAdded
	}
	if new.AdditionalProperties != nil {
		f.new = new.AdditionalProperties
	} else {
		f.kind = MapValuesRemoved
	}
	switch {
	case is == forbidden:
		f.impact = Impact{Stored: Breaking, Writers: Breaking}
		if was == pruned {
			f.impact.Stored = at.seen()
		}
		f.message = "objects with fields that are not declared are refused"
	case was == forbidden:
		f.impact, f.message = Impact{Stored: at.seen(), Writers: at.seen(), Readers: Care}, "fields that are not declared are not refused any more"
	case is == pruned:
		f.impact, f.message = everybody(Breaking), "fields that are not declared are pruned: what is stored is lost with the next write"
	case was == pruned:
		f.impact, f.message = Impact{Stored: at.seen(), Writers: at.seen()}, "fields that are not declared are kept; they were pruned"
	case is == kept:
		f.impact, f.message = Impact{Stored: at.seen(), Writers: at.seen(), Readers: Care}, "fields that are not declared are kept unchecked"
	case was == kept:
		f.impact, f.message = Impact{Stored: Care, Writers: Care}, "fields that were kept unchecked are checked: what does not fit is pruned or refused"
	case is == emptied && w.kindsOf(valueSchema(old))&(objects|lists) == 0:
		f.impact, f.message = Impact{Stored: at.seen(), Writers: at.seen(), Readers: Care}, "values are not checked any more"
	case is == emptied:
		f.impact, f.message = everybody(Breaking), "objects that are values of the map lose all that they have"
	default: // from emptied to governed
		f.impact, f.message = Impact{Stored: Breaking, Writers: Breaking}, fmt.Sprintf("values have to be %s", typeName(valueSchema(new)))
	}
	w.tell(f)
}

// keeping compares x-kubernetes-preserve-unknown-fields.
func (w *walk) keeping(old, new *Props, was, is fate, at place) {
	keyword := at.at("x-kubernetes-preserve-unknown-fields")
	before, after := keeps(old), keeps(new)
	switch {
	case before == after:
	case after:
		f := found{kind: PreserveUnknownAdded, at: keyword, new: true, impact: Impact{Stored: at.seen(), Writers: at.seen(), Readers: Care},
			message: "fields that are not declared are kept: readers find them"}
		if was == kept && is == kept {
			f.impact, f.message = Impact{Stored: at.seen(), Writers: at.seen()}, "nothing changes: fields that are not declared are kept as before"
		}
		w.tell(f)
	default:
		f := found{kind: PreserveUnknownRemoved, at: keyword, old: true, impact: everybody(Breaking),
			message: "fields that are not declared are pruned: what is stored is lost with the next write"}
		switch {
		case is == kept:
			f.impact, f.message = Impact{Stored: at.seen(), Writers: at.seen()}, "nothing changes: fields that are not declared are kept as before"
		case is != pruned:
			f.impact, f.message = Impact{Stored: at.seen(), Writers: at.seen()}, "what becomes of fields that are not declared is told by additionalProperties"
		}
		w.tell(f)
	}
}
