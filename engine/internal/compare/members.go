package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// policy is what happens to a field that the schema of an object does not declare.
type policy uint8

const (
	pruned    policy = iota
	preserved        // unchanged
	validated        // validated by the schema of additionalProperties
	emptied          // additionalProperties: true. The field is kept, but objects in it lose all fields
	forbidden        // additionalProperties: false
)

// policy returns the policy for undeclared fields. inherited: the object is in a list that preserves unknown fields;
// all: the CRD does.
func (w *walk) policy(s *Props, inherited, all bool) policy {
	switch a := s.AdditionalProperties; {
	case a == nil && (all || inherited || schema.Preserves(s)):
		return preserved
	case a == nil:
		return pruned
	case a.Schema != nil:
		return validated
	case !a.Allows:
		return forbidden
	case all:
		return preserved
	}
	return emptied
}

// required compares the required fields.
func (w *pair) required() {
	reported := map[string]bool{}
	for i := range w.new {
		n := &w.new[i]
		for k, name := range n.Required {
			if reported[name] || !slices.Contains(w.old[0].given, name) && w.requires(w.old, name) || w.old.demands(name) {
				continue
			}
			reported[name] = true
			impact, what := w.requiredField(name)
			if n.clause {
				impact.Stored = max(impact.Stored, impact.Writers)
			}
			if impact != harmless && w.proof.exhausted {
				impact, what = careForWrites, "required: "+undecided
			}
			keyword := n.path.With(tree.Name("required"))
			w.reportMoved("RequiredAdded", impact, keyword, keyword.With(tree.At(k)), nil, name, "%s is %s", name, what)
		}
	}
	clear(reported)
	for i := range w.old {
		o := &w.old[i]
		for k, name := range o.Required {
			if reported[name] || !slices.Contains(w.new[0].given, name) && w.requires(w.new, name) || w.new.demands(name) {
				continue
			}
			reported[name] = true
			impact, what := careForReaders, "optional: readers must expect objects without it"
			if slices.Contains(w.new[0].given, name) {
				impact, what = harmless, "optional, but all objects have it, because it has a default"
			}
			keyword := o.path.With(tree.Name("required"))
			w.reportMoved("RequiredRemoved", impact, keyword.With(tree.At(k)), keyword, name, nil, "%s is %s", name, what)
		}
	}
}

// requires reports whether each object that satisfies the parts has a field.
func (w *pair) requires(list parts, name string) bool {
	w.proof.start()
	return w.proof.requires(list, name)
}

// requiredField returns the impact of a field that is now required, and what it is.
func (w *pair) requiredField(name string) (impact Impact, what string) {
	s := w.new[0].Props
	p, declared := s.Properties[name]
	switch known := implied(s, name, w.at) != nil; {
	case w.at.root && known:
		return harmless, "required, and all objects have it"
	case declared && hasDefault(&p):
		return harmless, "required, and has a default"
	case !declared && !known && w.policy(s, w.at.newPreserves, w.newPreservesAll) == pruned:
		return breaksWrites, "required, but pruned: all objects are rejected"
	}
	return breaksWrites, "required: objects without it are rejected"
}

// members compares declared and other fields of an object.
func (w *walk) members(oldParts, newParts parts, at node) {
	old, new := oldParts[0].Props, newParts[0].Props
	was, is := w.policy(old, at.oldPreserves, w.oldPreservesAll), w.policy(new, at.newPreserves, w.newPreservesAll)
	all := make(map[string]Props, max(len(old.Properties), len(new.Properties)))
	maps.Copy(all, old.Properties)
	maps.Copy(all, new.Properties)
	for _, p := range slices.Concat(oldParts, newParts) {
		if p.clause && is != pruned && is != forbidden {
			maps.Copy(all, p.Properties)
		}
	}
	for _, name := range schema.Names(all) {
		o, before := old.Properties[name]
		n, after := new.Properties[name]
		below := at.below(tree.Name("properties"), tree.Name(name))
		below.isRequired = requires(new, name)
		below.meta = name == "metadata" && (at.root || new.XEmbeddedResource)
		compare := func(o, n *Props) {
			w.node(append(partsOf(o, below.path), oldParts.inClauses(&name)...),
				append(partsOf(n, below.path), newParts.inClauses(&name)...), below)
		}
		oldImplied, newImplied := implied(old, name, at), implied(new, name, at)
		switch {
		case !before && !after:
			compare(cmp.Or(oldImplied, undeclaredSchema(old, was)), cmp.Or(newImplied, undeclaredSchema(new, is)))
		case before && after:
			compare(&o, &n)
		case after && oldImplied != nil:
			compare(oldImplied, &n)
		case after && was == validated:
			compare(schema.ValueSchema(old), &n)
		case after:
			w.added(&n, new, was, at, below)
		case newImplied != nil:
			compare(&o, newImplied)
		case is == validated:
			compare(&o, schema.ValueSchema(new))
		default:
			w.removedProperty(&o, is, at, below)
		}
	}
	w.undeclared(old, new, was, is, at)
}

// undeclaredSchema returns the schema of the fields that an object does not declare, by their policy.
func undeclaredSchema(s *Props, p policy) *Props {
	if p == validated {
		return schema.ValueSchema(s)
	}
	return &Props{XPreserveUnknownFields: new(p == preserved)}
}

// added reports a new property; was is the policy for it before.
func (w *walk) added(p, parent *Props, was policy, at, below node) {
	impact := careForWrites
	var message string
	switch withDefault := hasDefault(p); {
	case at.meta:
		message = "metadata that objects have already is validated"
	case was == preserved || was == emptied:
		message = "objects may have the field already, because undeclared fields were kept: " +
			"undeclared fields in it are pruned, and invalid values are rejected"
	case withDefault && (at.mapped || w.unknownFormat(p)):
		message = "the field is new, and has its default when objects are read: " +
			"check that the default is valid, because API servers do not check it here"
	case withDefault && (at.combined || at.ruled || parent.MaxProperties != nil):
		message = "the field is new, and has its default when objects are read: " +
			"check that the bounds, logical operators and rules around it allow the default"
	case withDefault:
		impact, message = harmless, "the field is new, and has its default when objects are read"
	default:
		impact, message = harmless, "the field is new"
	}
	w.report("PropertyAdded", impact, below.path, nil, p, "%s", message)
}

// unknownFormat reports whether an invalid default may be accepted: API servers validate defaults with formats that
// they do not use for objects.
func (w *walk) unknownFormat(p *Props) bool {
	return schema.Any(p, func(s *Props) bool { return s.Format != "" && !w.knows(s) })
}

// removedProperty reports a removed property; is is the policy for it now.
func (w *walk) removedProperty(p *Props, is policy, at, below node) {
	impact := breaksAll
	var message string
	switch {
	case at.meta:
		impact, message = at.seen(Compatible), "the field is no longer validated"
	case is == pruned:
		message = "the field is pruned: readers do not get it, writes ignore it, and the next write removes the stored value"
	case is == forbidden:
		message = "objects with the field are rejected"
	case is == emptied && w.kindsOf(p)&(objects|lists) != 0:
		message = "the field is kept, but objects in it lose all their fields"
	default:
		impact, message = at.seen(NeedsCare), "the field is kept, but neither validated nor defaulted"
	}
	w.report("PropertyRemoved", impact, below.path, p, nil, "%s", message)
}

// undeclared compares additionalProperties and x-kubernetes-preserve-unknown-fields.
func (w *walk) undeclared(old, new *Props, was, is policy, at node) {
	if was == validated && is == validated {
		below := at.below(tree.Name("additionalProperties"))
		below.mapped = true
		w.node(partsOf(schema.ValueSchema(old), below.path), partsOf(schema.ValueSchema(new), below.path), below)
		return
	}
	w.preserving(old, new, was, is, at)
	if was == is || was <= preserved && is <= preserved {
		return
	}
	kind := "MapValuesChanged"
	var oldValue, newValue any
	if old.AdditionalProperties != nil {
		oldValue = old.AdditionalProperties
	} else {
		kind = "MapValuesAdded"
	}
	if new.AdditionalProperties != nil {
		newValue = new.AdditionalProperties
	} else {
		kind = "MapValuesRemoved"
	}
	impact := at.seen(NeedsCare)
	var message string
	switch {
	case is == forbidden:
		impact, message = breaksWrites, "objects with undeclared fields are rejected"
		if was == pruned {
			impact.Stored = at.seen(Compatible).Stored
		}
	case was == forbidden:
		message = "undeclared fields are no longer rejected"
	case is == pruned:
		impact, message = breaksAll, "undeclared fields are pruned: the next write removes the stored values"
	case was == pruned:
		impact, message = at.seen(Compatible), "undeclared fields are kept; they were pruned"
	case is == preserved:
		message = "undeclared fields are kept without validation"
	case was == preserved:
		impact, message = careForWrites, "undeclared fields, which were kept without validation, are validated and pruned"
	case is == emptied && w.kindsOf(schema.ValueSchema(old))&(objects|lists) == 0:
		message = "the values of the map are no longer validated"
	case is == emptied:
		impact, message = breaksAll, "objects in the map lose all their fields"
	default: // from emptied to governed
		impact, message = breaksWrites, "the values of the map must have type "+typeName(schema.ValueSchema(new))
	}
	w.report(kind, impact, at.at("additionalProperties"), oldValue, newValue, "%s", message)
}

func (w *walk) preserving(old, new *Props, was, is policy, at node) {
	keyword := at.at("x-kubernetes-preserve-unknown-fields")
	const same = "no effect: undeclared fields are kept as before"
	switch before, after := schema.Preserves(old), schema.Preserves(new); {
	case before == after:
	case after && was == preserved && is == preserved:
		w.report("PreserveUnknownAdded", at.seen(Compatible), keyword, nil, true, same)
	case after:
		w.report("PreserveUnknownAdded", at.seen(NeedsCare), keyword, nil, true, "undeclared fields are kept: readers get them")
	case is == preserved:
		w.report("PreserveUnknownRemoved", at.seen(Compatible), keyword, true, nil, same)
	case is != pruned:
		w.report("PreserveUnknownRemoved", at.seen(Compatible), keyword, true, nil,
			"additionalProperties decides about undeclared fields")
	default:
		w.report("PreserveUnknownRemoved", breaksAll, keyword, true, nil,
			"undeclared fields are pruned: the next write removes the stored values")
	}
}

// requires reports whether an object must have a field.
func requires(s *Props, name string) bool { return slices.Contains(s.Required, name) }

// givenBy returns the fields with a default in both schemas, which all objects have. Requests can drop the status.
func givenBy(old, new *Props, at node) (names []string) {
	for name, p := range old.Properties {
		dropped := at.root && name == "status"
		if q, ok := new.Properties[name]; ok && hasDefault(&p) && hasDefault(&q) && !dropped {
			names = append(names, name)
		}
	}
	return names
}
