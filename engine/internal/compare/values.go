package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/value"
)

// canonical returns a value as the API server stores it, so that equal values have equal texts.
func canonical(j *apiextensionsv1.JSON) string {
	if j == nil {
		return ""
	}
	d := value.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := d.ParseJSON(j.Raw, value.Limits{MaxBytes: max(len(j.Raw), 1)})
	if err != nil {
		return string(j.Raw)
	}
	text := string(d.AppendCanonical(nil, root))
	d.Release()
	return text
}

func sameJSON(a, b *apiextensionsv1.JSON) bool { return canonical(a) == canonical(b) }

// hasDefault reports whether absent values get a default. A default of null has no effect.
func hasDefault(s *Props) bool {
	return s.Default != nil && len(s.Default.Raw) > 0 && canonical(s.Default) != "null"
}

func raw(j *apiextensionsv1.JSON) any { return json.RawMessage(canonical(j)) }

func (w *walk) enum(old, new *Props, at node) {
	keyword := at.at("enum")
	switch {
	case len(old.Enum) == 0 && len(new.Enum) == 0:
		return
	case len(old.Enum) == 0:
		w.report("EnumAdded", at.tightened(), keyword, nil, new.Enum, "all other values are rejected")
		return
	case len(new.Enum) == 0:
		w.report("EnumRemoved", careForReaders, keyword, old.Enum, nil, "all values are accepted: readers can get others")
		return
	}
	w.sets(keyword, canonicals(old.Enum), canonicals(new.Enum), func(v string) any { return json.RawMessage(v) },
		effect{"EnumValueRemoved", at.tightened(), "%s is rejected"},
		effect{"EnumValueAdded", careForReaders, "%s is accepted: readers can get it"})
}

func canonicals(enum []apiextensionsv1.JSON) []string {
	list := make([]string, len(enum))
	for i := range enum {
		list[i] = canonical(&enum[i])
	}
	return list
}

// isSubset reports whether all contains each of some.
func isSubset(some, all []apiextensionsv1.JSON) bool {
	known := setOf(canonicals(all))
	return !slices.ContainsFunc(canonicals(some), func(v string) bool { return !known[v] })
}

func truncated(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func (w *walk) defaults(old, new *Props, at node) {
	was, is := hasDefault(old), hasDefault(new)
	keyword := at.at("default")
	switch {
	case !was && !is:
	case !was:
		w.report("DefaultAdded", careForWrites, keyword, nil, raw(new.Default),
			"objects without a value get this one when they are read, and store it with their next write")
	case !is && at.isRequired:
		w.report("DefaultRemoved", Impact{NeedsCare, Breaking, NeedsCare}, keyword, raw(old.Default), nil,
			"the value is required: objects without it are rejected")
	case !is:
		w.report("DefaultRemoved", careForAll, keyword, raw(old.Default), nil, "objects without a value no longer get one")
	case !sameJSON(old.Default, new.Default):
		w.report("DefaultChanged", careForWrites, keyword, raw(old.Default), raw(new.Default),
			"objects without a value get another one; objects that have stored the old default keep it")
	}
}

func (w *walk) patterns(old, new *Props, at node) {
	w.compare(at.at("pattern"), text(old.Pattern), text(new.Pattern),
		effect{"PatternAdded", at.tightened(), "strings that do not match are rejected"},
		effect{"PatternRemoved", harmless, "all strings are accepted"},
		effect{"PatternChanged", careForWrites, "strings that match the old pattern may not match the new one"})
}

func (w *walk) bounds(old, new *Props, at node) {
	for _, b := range []struct {
		keyword  string
		old, new *int64
		rejected string
		minimum  bool
	}{
		{"maxLength", old.MaxLength, new.MaxLength, "strings of more than %d code points", false},
		{"minLength", old.MinLength, new.MinLength, "strings of fewer than %d code points", true},
		{"maxItems", old.MaxItems, new.MaxItems, "lists of more than %d items", false},
		{"minItems", old.MinItems, new.MinItems, "lists of fewer than %d items", true},
		{"maxProperties", old.MaxProperties, new.MaxProperties, "objects of more than %d fields", false},
		{"minProperties", old.MinProperties, new.MinProperties, "objects of fewer than %d fields", true},
	} {
		if equal(b.old, b.new) {
			continue
		}
		tighter := b.new != nil && (b.old == nil || *b.new < *b.old)
		if b.minimum {
			tighter = b.new != nil && *b.new > 0 && (b.old == nil || *b.new > *b.old)
		}
		if tighter {
			w.report("BoundTightened", at.tightened(), at.at(b.keyword), pointee(b.old), *b.new,
				b.rejected+" are rejected", *b.new)
			continue
		}
		w.loosened(b.keyword, pointee(b.old), pointee(b.new), at)
	}
	w.limits(old, new, at)
	w.multipleOf(old, new, at)
	keyword := at.at("uniqueItems")
	switch {
	case new.UniqueItems && !old.UniqueItems:
		w.report("BoundTightened", at.tightened(), keyword, false, true, "the items of lists must differ")
	case old.UniqueItems && !new.UniqueItems:
		w.report("BoundLoosened", harmless, keyword, true, false, "the items of lists may be equal")
	}
}

// loosened reports a bound that is removed or less strict.
func (w *walk) loosened(keyword string, old, new any, at node) {
	if new == nil {
		w.report("BoundLoosened", harmless, at.at(keyword), old, nil, "%s is removed", keyword)
		return
	}
	w.report("BoundLoosened", harmless, at.at(keyword), old, new, "%s is %v", keyword, new)
}

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// pointee returns *p, or nil.
func pointee[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// looseMaximum and looseMinimum report whether all numbers that satisfy the old bound satisfy the new one. API servers
// compare integers with the truncated bound.
func looseMaximum(old *float64, oldOpen bool, new *float64, newOpen bool) bool {
	if new == nil {
		return true
	}
	return old != nil && notAbove(*old, oldOpen, *new, newOpen) && notAbove(math.Trunc(*old), oldOpen, math.Trunc(*new), newOpen)
}

func looseMinimum(old *float64, oldOpen bool, new *float64, newOpen bool) bool {
	return looseMaximum(negated(old), oldOpen, negated(new), newOpen)
}

func negated(f *float64) *float64 {
	if f == nil {
		return nil
	}
	n := -*f
	return &n
}

func notAbove(old float64, oldOpen bool, new float64, newOpen bool) bool {
	return old < new || old == new && (oldOpen || !newOpen)
}

// limits compares minimum and maximum, and whether they are exclusive.
func (w *walk) limits(old, new *Props, at node) {
	for _, b := range []struct {
		keyword, exclusive string
		old, new           *float64
		oldOpen, newOpen   bool
		loose              func(old *float64, oldOpen bool, new *float64, newOpen bool) bool
		than               string
	}{
		{"maximum", "exclusiveMaximum", old.Maximum, new.Maximum, old.ExclusiveMaximum, new.ExclusiveMaximum, looseMaximum,
			"greater than"},
		{"minimum", "exclusiveMinimum", old.Minimum, new.Minimum, old.ExclusiveMinimum, new.ExclusiveMinimum, looseMinimum,
			"less than"},
	} {
		keyword, was, is := at.at(b.keyword), pointee(b.old), pointee(b.new)
		if equal(b.old, b.new) {
			oldOpen, newOpen := b.oldOpen && b.old != nil, b.newOpen && b.new != nil
			if oldOpen == newOpen {
				continue
			}
			keyword, was, is = at.at(b.exclusive), oldOpen, newOpen
		}
		kind, impact := "BoundTightened", at.tightened()
		var message string
		fraction := func(f *float64) bool { return f != nil && *f != math.Trunc(*f) }
		integer := new.Type == "integer" && fraction(b.new)
		switch {
		case b.new == nil:
			kind, impact, message = "BoundLoosened", harmless, b.keyword+" is removed"
		case b.loose(b.old, b.oldOpen, b.new, b.newOpen) && (!integer || fraction(b.old)):
			kind, impact, message = "BoundLoosened", harmless, fmt.Sprintf("%s is %v", b.keyword, *b.new)
		case integer:
			message = "all values are rejected, because API servers compare integers with integers only"
		case b.newOpen:
			message = fmt.Sprintf("values %s or equal to %v are rejected", b.than, *b.new)
		default:
			message = fmt.Sprintf("values %s %v are rejected", b.than, *b.new)
		}
		w.report(kind, impact, keyword, was, is, "%s", message)
	}
}

func (w *walk) multipleOf(old, new *Props, at node) {
	switch was, is := old.MultipleOf, new.MultipleOf; {
	case equal(was, is):
	case looseMultipleOf(was, is):
		w.loosened("multipleOf", pointee(was), pointee(is), at)
	default:
		w.report("BoundTightened", at.tightened(), at.at("multipleOf"), pointee(was), *is,
			"values that are not a multiple of %v are rejected", *is)
	}
}

// looseMultipleOf reports whether every multiple of old is one of new. It decides integers only.
func looseMultipleOf(old, new *float64) bool {
	const exact = 1 << 53
	if new == nil {
		return true
	}
	return old != nil && *old > 0 && *new > 0 && *old < exact && *old == math.Trunc(*old) && *new == math.Trunc(*new) &&
		math.Mod(*old, *new) == 0
}
