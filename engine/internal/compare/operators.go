package compare

import (
	"slices"

	"github.com/crdeval/crdeval/engine/value"
)

// operators compares the logical operators allOf, anyOf, oneOf and not. Ratcheting does not apply to them.
func (w *walk) operators(old, new *Props, at node) {
	w.clauses("allOf", allOf(old), allOf(new), at)
	w.clauses("anyOf", anyOf(old), anyOf(new), at)
	w.clauses("oneOf", old.OneOf, new.OneOf, at)
	keyword := at.at("not")
	switch p := (&proof{fuel: maxSteps}); {
	case old.Not == nil && new.Not == nil:
	case old.Not == nil:
		w.report("LogicalOperatorTightened", breaksWrites, keyword, nil, new.Not, "values that satisfy the schema are rejected")
	case new.Not == nil:
		w.report("LogicalOperatorLoosened", harmless, keyword, old.Not, nil, "not is removed")
	case jsonOf(old.Not) == jsonOf(new.Not):
	case p.implies(new.Not, old.Not):
		w.report("LogicalOperatorLoosened", harmless, keyword, old.Not, new.Not, "fewer values are rejected")
	default:
		w.report("LogicalOperatorChanged", careForWrites, keyword, old.Not, new.Not, undecided)
	}
}

const undecided = "it may reject values that were accepted: try it on objects"

// anyOf returns the anyOf of a schema, except for the one that is implied by int-or-string.
func anyOf(s *Props) []Props {
	if s.XIntOrString && isIntOrString(s.AnyOf) {
		return nil
	}
	return s.AnyOf
}

// allOf returns the allOf of a schema, likewise.
func allOf(s *Props) []Props {
	if !s.XIntOrString || len(s.AllOf) == 0 || !isIntOrString(s.AllOf[0].AnyOf) {
		return s.AllOf
	}
	list := slices.Clone(s.AllOf)
	list[0].AnyOf = nil
	return list
}

func isIntOrString(anyOf []Props) bool {
	return len(anyOf) == 2 && jsonOf(&anyOf[0]) == `{"type":"integer"}` && jsonOf(&anyOf[1]) == `{"type":"string"}`
}

// clauses compares the clauses of one operator.
func (w *walk) clauses(keyword string, old, new []Props, at node) {
	removed, added := distinct(old, new)
	if len(removed) == 0 && len(added) == 0 {
		return
	}
	p := &proof{fuel: maxSteps}
	looser, tighter := len(new) == 0, len(old) == 0 || len(added) == 0
	switch keyword {
	case "allOf":
		looser = p.all(added, func(n *Props) bool { return p.implies(&Props{}, n) || p.anyImplies(old, n) })
		tighter = len(removed) == 0
	case "anyOf":
		looser = looser || len(old) > 0 && p.all(removed, func(o *Props) bool { return p.impliesAny(o, new) })
	}
	path := at.at(keyword)
	if len(added) == 1 && len(removed) <= 1 {
		path = path.With(value.At(added[0].index))
	}
	var oldValue, newValue any
	if len(old) > 0 {
		oldValue = old
	}
	if len(new) > 0 {
		newValue = new
	}
	switch {
	case looser && len(new) == 0:
		w.report("LogicalOperatorLoosened", harmless, path, oldValue, nil, "%s is removed", keyword)
	case looser:
		w.report("LogicalOperatorLoosened", careForReaders, path, oldValue, newValue,
			"all valid values stay valid, and readers can get others")
	case tighter:
		w.report("LogicalOperatorTightened", breaksWrites, path, oldValue, newValue,
			"some values are rejected, also by updates that do not change them")
	default:
		w.report("LogicalOperatorChanged", careForWrites, path, oldValue, newValue, undecided)
	}
}

// clause is a clause of an operator, with its index.
type clause struct {
	*Props
	index int
}

// distinct returns the clauses that are only in one of two lists. It respects duplicates.
func distinct(old, new []Props) (removed, added []clause) {
	count := make(map[string]int, len(old))
	for i := range old {
		count[jsonOf(&old[i])]++
	}
	for i := range new {
		if t := jsonOf(&new[i]); count[t] > 0 {
			count[t]--
		} else {
			added = append(added, clause{&new[i], i})
		}
	}
	for i := len(old) - 1; i >= 0; i-- {
		if t := jsonOf(&old[i]); count[t] > 0 {
			count[t]--
			removed = append(removed, clause{&old[i], i})
		}
	}
	slices.Reverse(removed)
	return removed, added
}

// maxSteps bounds the pairs of schemas that a proof compares.
const maxSteps = 4096

// proof reports whether every value that satisfies one schema satisfies another. It is true only if that is certain.
type proof struct{ fuel int }

func (p *proof) all(list []clause, holds func(*Props) bool) bool {
	return !slices.ContainsFunc(list, func(c clause) bool { return !holds(c.Props) })
}

func (p *proof) anyImplies(list []Props, n *Props) bool {
	return slices.ContainsFunc(list, func(o Props) bool { return p.implies(&o, n) })
}

func (p *proof) impliesAny(o *Props, list []Props) bool {
	return slices.ContainsFunc(list, func(n Props) bool { return p.implies(o, &n) })
}

func (p *proof) implies(o, n *Props) bool {
	if p.fuel--; p.fuel < 0 || n == nil || o == nil {
		return p.fuel >= 0 && n == nil
	}
	return p.scalar(o, n) && p.parts(o, n) && p.operators(o, n)
}

// scalar compares the constraints of the value itself.
func (p *proof) scalar(o, n *Props) bool {
	most := func(o, n *int64) bool { return n == nil || o != nil && *o <= *n }
	least := func(o, n *int64) bool { return n == nil || *n <= 0 || o != nil && *o >= *n }
	sameType := n.Type == o.Type && n.Format == o.Format && n.Nullable == o.Nullable
	return (sameType || n.Type == "" && n.Format == "") &&
		!n.XIntOrString && !n.XEmbeddedResource && len(n.XValidations) == 0 && !n.UniqueItems &&
		most(o.MaxLength, n.MaxLength) && least(o.MinLength, n.MinLength) &&
		most(o.MaxItems, n.MaxItems) && least(o.MinItems, n.MinItems) &&
		most(o.MaxProperties, n.MaxProperties) && least(o.MinProperties, n.MinProperties) &&
		looseMaximum(o.Maximum, o.ExclusiveMaximum, n.Maximum, n.ExclusiveMaximum) &&
		looseMinimum(o.Minimum, o.ExclusiveMinimum, n.Minimum, n.ExclusiveMinimum) &&
		looseMultipleOf(o.MultipleOf, n.MultipleOf) && (n.Pattern == "" || n.Pattern == o.Pattern) &&
		(len(n.Enum) == 0 || len(o.Enum) > 0 && isSubset(o.Enum, n.Enum))
}

// parts compares the constraints of fields and items.
func (p *proof) parts(o, n *Props) bool {
	for _, name := range n.Required {
		if !requires(o, name) {
			return false
		}
	}
	for name := range n.Properties {
		above, below := o.Properties[name], n.Properties[name]
		if !p.implies(&above, &below) {
			return false
		}
	}
	if n.AdditionalProperties != nil && jsonOf(n.AdditionalProperties) != jsonOf(o.AdditionalProperties) {
		return false
	}
	if n.Items == nil || n.Items.Schema == nil {
		return true
	}
	above := &Props{}
	if o.Items != nil && o.Items.Schema != nil {
		above = o.Items.Schema
	}
	return p.implies(above, n.Items.Schema)
}

// operators compares the logical operators.
func (p *proof) operators(o, n *Props) bool {
	for i := range n.AllOf {
		if c := &n.AllOf[i]; !p.implies(o, c) && !p.anyImplies(o.AllOf, c) {
			return false
		}
	}
	if len(n.AnyOf) > 0 && !p.impliesAny(o, n.AnyOf) {
		removed, _ := distinct(o.AnyOf, n.AnyOf)
		if len(o.AnyOf) == 0 || !p.all(removed, func(a *Props) bool { return p.impliesAny(a, n.AnyOf) }) {
			return false
		}
	}
	if removed, added := distinct(o.OneOf, n.OneOf); len(n.OneOf) > 0 && len(removed)+len(added) > 0 {
		return false
	}
	return n.Not == nil || o.Not != nil && (jsonOf(o.Not) == jsonOf(n.Not) || p.implies(n.Not, o.Not))
}
