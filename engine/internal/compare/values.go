package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/internal/value"
)

// canonical is a value as the API server stores it, so that equal values have equal texts.
func canonical(j *apiextensionsv1.JSON) string {
	if j == nil {
		return ""
	}
	d := value.Acquire()
	root, err := d.ParseJSON(j.Raw, value.Limits{MaxBytes: max(len(j.Raw), 1)})
	text := string(j.Raw)
	if err == nil {
		text = string(d.AppendCanonical(nil, root))
	}
	d.Release()
	return text
}

func sameJSON(a, b *apiextensionsv1.JSON) bool { return canonical(a) == canonical(b) }

// hasDefault reports whether absent values are filled in: a default of null is none.
func hasDefault(s *Props) bool {
	return s.Default != nil && len(s.Default.Raw) > 0 && canonical(s.Default) != "null"
}

func raw(j *apiextensionsv1.JSON) any { return json.RawMessage(canonical(j)) }

// enum compares the values that are listed.
func (w *walk) enum(old, new *Props, at place) {
	keyword := at.at("enum")
	switch {
	case len(old.Enum) == 0 && len(new.Enum) == 0:
		return
	case len(old.Enum) == 0:
		w.tell(found{kind: EnumAdded, impact: at.tightened(), at: keyword, new: new.Enum, message: "all other values are refused"})
		return
	case len(new.Enum) == 0:
		w.tell(found{kind: EnumRemoved, impact: Impact{Readers: Care}, at: keyword, old: old.Enum, message: "any value is accepted: readers find others"})
		return
	}
	before, after := listed(old.Enum), listed(new.Enum)
	for i := range old.Enum {
		if text := canonical(&old.Enum[i]); !after[text] {
			w.tell(found{kind: EnumValueRemoved, impact: at.tightened(), at: keyword, oldAt: keyword.With(value.At(i)), old: raw(&old.Enum[i]),
				message: brief(text) + " is refused"})
		}
	}
	for i := range new.Enum {
		if text := canonical(&new.Enum[i]); !before[text] {
			w.tell(found{kind: EnumValueAdded, impact: Impact{Readers: Care}, at: keyword.With(value.At(i)), oldAt: keyword, new: raw(&new.Enum[i]),
				message: brief(text) + " is accepted: readers find it"})
		}
	}
}

func listed(enum []apiextensionsv1.JSON) map[string]bool {
	set := make(map[string]bool, len(enum))
	for i := range enum {
		set[canonical(&enum[i])] = true
	}
	return set
}

// brief is a text that may be long.
func brief(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// defaults compares what is filled in.
func (w *walk) defaults(old, new *Props, at place) {
	was, is := hasDefault(old), hasDefault(new)
	keyword := at.at("default")
	switch {
	case !was && !is:
	case !was:
		w.tell(found{kind: DefaultAdded, impact: Impact{Stored: Care, Writers: Care}, at: keyword, new: raw(new.Default),
			message: "objects without a value have this one when they are read, and store it with their next write"})
	case !is:
		f := found{kind: DefaultRemoved, impact: everybody(Care), at: keyword, old: raw(old.Default), message: "objects without a value stay without"}
		if at.demanded {
			f.impact.Writers = Breaking
			f.message = "the value is required: who leaves it out is refused"
		}
		w.tell(f)
	case !sameJSON(old.Default, new.Default):
		w.tell(found{kind: DefaultChanged, impact: Impact{Stored: Care, Writers: Care}, at: keyword, old: raw(old.Default), new: raw(new.Default),
			message: "leaving the value out means something else; objects that have stored the old default keep it"})
	}
}

// patterns compares what texts have to match.
func (w *walk) patterns(old, new *Props, at place) {
	keyword := at.at("pattern")
	f := found{at: keyword}
	switch {
	case old.Pattern == new.Pattern:
		return
	case old.Pattern == "":
		f.kind, f.impact, f.new, f.message = PatternAdded, at.tightened(), new.Pattern, "texts that do not match are refused"
	case new.Pattern == "":
		f.kind, f.old, f.message = PatternRemoved, old.Pattern, "any text is accepted"
	default:
		f.kind, f.impact, f.old, f.new = PatternChanged, Impact{Stored: Care, Writers: Care}, old.Pattern, new.Pattern
		f.message = "what matched the old one may not match this one"
	}
	w.tell(f)
}

// bounds compares what is counted and measured.
func (w *walk) bounds(old, new *Props, at place) {
	w.atMost("maxLength", old.MaxLength, new.MaxLength, "texts of more than %d code points are refused", at)
	w.atLeast("minLength", old.MinLength, new.MinLength, "texts of fewer than %d code points are refused", at)
	w.atMost("maxItems", old.MaxItems, new.MaxItems, "lists of more than %d elements are refused", at)
	w.atLeast("minItems", old.MinItems, new.MinItems, "lists of fewer than %d elements are refused", at)
	w.atMost("maxProperties", old.MaxProperties, new.MaxProperties, "objects of more than %d fields are refused", at)
	w.atLeast("minProperties", old.MinProperties, new.MinProperties, "objects of fewer than %d fields are refused", at)
	w.limits(old, new, at)
	w.multiple(old, new, at)
	if new.UniqueItems != old.UniqueItems {
		f := found{kind: BoundLoosened, at: at.at("uniqueItems"), old: old.UniqueItems, new: new.UniqueItems, message: "elements of lists may be equal"}
		if new.UniqueItems {
			f.kind, f.impact, f.message = BoundTightened, at.tightened(), "elements of lists must differ"
		}
		w.tell(f)
	}
}

func (w *walk) atMost(keyword string, old, new *int64, text string, at place) {
	before, after := int64(math.MaxInt64), int64(math.MaxInt64)
	if old != nil {
		before = *old
	}
	if new != nil {
		after = *new
	}
	w.bound(keyword, old, new, after < before, fmt.Sprintf(text, after), at)
}

func (w *walk) atLeast(keyword string, old, new *int64, text string, at place) {
	var before, after int64
	if old != nil {
		before = max(0, *old)
	}
	if new != nil {
		after = max(0, *new)
	}
	w.bound(keyword, old, new, after > before, fmt.Sprintf(text, after), at)
}

// bound tells of a bound that is there, gone or other than it was.
func (w *walk) bound(keyword string, old, new *int64, tighter bool, text string, at place) {
	f := found{at: at.at(keyword)}
	switch {
	case old == nil && new == nil, old != nil && new != nil && *old == *new:
		return
	case tighter:
		f.kind, f.impact, f.message = BoundTightened, at.tightened(), text
	case new == nil:
		f.kind, f.message = BoundLoosened, "there is no "+keyword+" any more"
	default:
		f.kind, f.message = BoundLoosened, fmt.Sprintf("%s is %d", keyword, *new)
	}
	if old != nil {
		f.old = *old
	}
	if new != nil {
		f.new = *new
	}
	w.tell(f)
}

// looseMaximum and looseMinimum report whether a bound of numbers lets through all that another did. Whole numbers are compared with the
// bound without its fraction, as the API server does.
func looseMaximum(old *float64, oldOpen bool, new *float64, newOpen bool) bool {
	if new == nil {
		return true
	}
	return old != nil && below(*old, oldOpen, *new, newOpen) && below(math.Trunc(*old), oldOpen, math.Trunc(*new), newOpen)
}

func looseMinimum(old *float64, oldOpen bool, new *float64, newOpen bool) bool {
	if new == nil {
		return true
	}
	return old != nil && below(-*old, oldOpen, -*new, newOpen) && below(-math.Trunc(*old), oldOpen, -math.Trunc(*new), newOpen)
}

func below(old float64, oldOpen bool, new float64, newOpen bool) bool {
	return old < new || old == new && (oldOpen || !newOpen)
}

// limits compares minimum and maximum, each with whether it is exclusive.
func (w *walk) limits(old, new *Props, at place) {
	for _, b := range []struct {
		keyword, exclusive string
		old, new           *float64
		oldOpen, newOpen   bool
		loose              bool
		side               string
	}{
		{"maximum", "exclusiveMaximum", old.Maximum, new.Maximum, old.ExclusiveMaximum, new.ExclusiveMaximum,
			looseMaximum(old.Maximum, old.ExclusiveMaximum, new.Maximum, new.ExclusiveMaximum), "greater"},
		{"minimum", "exclusiveMinimum", old.Minimum, new.Minimum, old.ExclusiveMinimum, new.ExclusiveMinimum,
			looseMinimum(old.Minimum, old.ExclusiveMinimum, new.Minimum, new.ExclusiveMinimum), "less"},
	} {
		oldOpen, newOpen := b.oldOpen && b.old != nil, b.newOpen && b.new != nil
		same := b.old == nil && b.new == nil || b.old != nil && b.new != nil && *b.old == *b.new
		if same && oldOpen == newOpen {
			continue
		}
		f := found{kind: BoundLoosened, at: at.at(b.keyword)}
		if same {
			f.at = at.at(b.exclusive)
			f.old, f.new = oldOpen, newOpen
		} else {
			if b.old != nil {
				f.old = *b.old
			}
			if b.new != nil {
				f.new = *b.new
			}
		}
		switch {
		case b.new == nil:
			f.message = "there is no " + b.keyword + " any more"
		case b.loose && (new.Type != "integer" || *b.new == math.Trunc(*b.new) || b.old != nil && *b.old != math.Trunc(*b.old)):
			f.message = fmt.Sprintf("%s is %v", b.keyword, *b.new)
		case new.Type == "integer" && *b.new != math.Trunc(*b.new):
			f.kind, f.impact, f.message = BoundTightened, at.tightened(), "every value is refused: the API server compares whole numbers with whole numbers alone"
		default:
			than := b.side + " than"
			if newOpen {
				than += " or equal to"
			}
			f.kind, f.impact, f.message = BoundTightened, at.tightened(), fmt.Sprintf("values %s %v are refused", than, *b.new)
		}
		w.tell(f)
	}
}

// multiple compares multipleOf.
func (w *walk) multiple(old, new *Props, at place) {
	was, is := old.MultipleOf, new.MultipleOf
	f := found{at: at.at("multipleOf")}
	switch {
	case was == nil && is == nil, was != nil && is != nil && *was == *is:
		return
	case is == nil:
		f.kind, f.old, f.message = BoundLoosened, *was, "there is no multipleOf any more"
	case looseMultiple(was, is):
		f.kind, f.old, f.new, f.message = BoundLoosened, *was, *is, fmt.Sprintf("multipleOf is %v", *is)
	default:
		f.kind, f.impact, f.new = BoundTightened, at.tightened(), *is
		f.message = fmt.Sprintf("values that are no multiple of %v are refused", *is)
		if was != nil {
			f.old = *was
		}
	}
	w.tell(f)
}

// looseMultiple reports whether every multiple of one number is one of the other: of whole numbers, as others are rounded at.
func looseMultiple(old, new *float64) bool {
	const exact = 1 << 53
	if new == nil {
		return true
	}
	return old != nil && *old > 0 && *new > 0 && *old < exact && *old == math.Trunc(*old) && *new == math.Trunc(*new) && math.Mod(*old, *new) == 0
}

// contains reports whether every listed value is in another list, too.
func contains(all, some []apiextensionsv1.JSON) bool {
	set := listed(all)
	return !slices.ContainsFunc(some, func(j apiextensionsv1.JSON) bool { return !set[canonical(&j)] })
}
