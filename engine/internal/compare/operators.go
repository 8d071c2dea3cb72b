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
	switch {
	case old.Not == nil && new.Not == nil:
	case old.Not == nil:
		w.report("LogicalOperatorTightened", breaksWrites, keyword, nil, new.Not, "values that satisfy the schema are rejected")
	case new.Not == nil:
		w.report("LogicalOperatorLoosened", harmless, keyword, old.Not, nil, "not is removed")
	case jsonOf(old.Not) == jsonOf(new.Not):
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

// clauses compares the clauses of one operator. Only allOf without some of its clauses and anyOf with additional ones are
// certain to accept more values: whether one clause is stricter than another is not decided.
func (w *walk) clauses(keyword string, old, new []Props, at node) {
	removed, added := distinct(old, new)
	if removed == 0 && len(added) == 0 {
		return
	}
	looser, tighter := len(new) == 0, len(old) == 0 || len(added) == 0
	switch keyword {
	case "allOf":
		looser, tighter = len(added) == 0, removed == 0
	case "anyOf":
		looser = looser || len(old) > 0 && removed == 0
	}
	path := at.at(keyword)
	if len(added) == 1 && removed <= 1 {
		path = path.With(value.At(added[0]))
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

// distinct returns how many clauses only the old list has, and the indexes of those that only the new list has. It
// respects duplicates.
func distinct(old, new []Props) (removed int, added []int) {
	count := make(map[string]int, len(old))
	for i := range old {
		count[jsonOf(&old[i])]++
	}
	for i := range new {
		if t := jsonOf(&new[i]); count[t] > 0 {
			count[t]--
		} else {
			added = append(added, i)
		}
	}
	return len(old) + len(added) - len(new), added
}
