package compare

import (
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// kinds is a set of kinds of JSON values.
type kinds uint8

const (
	booleans kinds = 1 << iota
	integers
	fractions
	texts
	lists
	objects
	anything = booleans | integers | fractions | texts | lists | objects
)

// kindsOf returns the kinds of values that a schema's type accepts, except null.
func (w *comparison) kindsOf(s *Props) kinds {
	if s.XIntOrString {
		return integers | texts
	}
	switch s.Type {
	case "boolean":
		return booleans
	case "integer":
		return integers
	case "number":
		return integers | fractions
	case "string":
		if w.knows(s) {
			return texts | lists // API servers accept lists for a string with a format
		}
		return texts
	case "array":
		return lists
	case "object":
		return objects
	}
	return anything
}

func typeName(s *Props) string {
	switch {
	case s.XIntOrString:
		return "int-or-string"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// types compares the types. It reports whether some value has both.
func (w *walk) types(old, new *Props, at node) bool {
	if old.Type == new.Type && old.XIntOrString == new.XIntOrString {
		return true
	}
	before, after := w.kindsOf(old), w.kindsOf(new)
	keyword := at.at("type")
	if new.XIntOrString && new.Type == "" || old.XIntOrString && old.Type == "" && new.Type == "" {
		keyword = at.at("x-kubernetes-int-or-string")
	}
	var impact Impact
	was, is := typeName(old), typeName(new)
	message := is + " instead of " + was
	mixed := old.Type != "" && old.XIntOrString || new.Type != "" && new.XIntOrString // unusual
	switch {
	case before&after == 0:
		impact = breaksAll
		message += ": no value has both types"
	case mixed:
		impact = careForAll
	default:
		if before&^after != 0 {
			impact = breaksWrites
			message += ": some values are rejected"
		} else {
			impact = at.seen(Compatible)
			message += ": all old values are valid"
			if at.ruled {
				message += ", but have another type in rules"
			}
		}
		switch after &^ before {
		case 0:
		case fractions:
			impact.Readers = NeedsCare
			message += "; readers can get values of other types"
		default:
			impact.Readers = Breaking
			message += "; readers can get values of other types"
		}
	}
	w.report("TypeChanged", impact, keyword, was, is, "%s", message)
	return before&after != 0
}

func (w *walk) nullable(old, new *Props, at node) {
	keyword := at.at("nullable")
	switch {
	case new.Nullable && !old.Nullable:
		w.report("NullableAdded", careForReaders, keyword, false, true, "null is accepted: readers can get it")
	case !old.Nullable || new.Nullable:
	case hasDefault(new):
		w.report("NullableRemoved", careForWrites, keyword, true, false, "null is replaced by the default")
	case at.isRequired || at.item:
		w.report("NullableRemoved", breaksWrites, keyword, true, false, "null is rejected")
	default:
		w.report("NullableRemoved", careForWrites, keyword, true, false, "null is dropped")
	}
}

// knows reports whether API servers validate the format of a schema.
func (w *comparison) knows(s *Props) bool {
	var types []string
	switch {
	case s.XIntOrString:
		types = []string{"integer", "string"}
	case s.Type != "":
		types = []string{s.Type}
	}
	return format.Supported(s.Format, types, w.Minor)
}

// wider maps formats to formats that accept all of their values.
var wider = map[string]string{
	"int32": "int64", "float": "double",
	"uuid3": "uuid", "uuid4": "uuid", "uuid5": "uuid", "isbn10": "isbn", "isbn13": "isbn",
}

// formatName returns the canonical name of a format.
func formatName(name string) string {
	if id := format.Lookup(name); id != format.None {
		return id.String()
	}
	return name
}

// formats compares the formats of a node. implied reports whether all old values have the new format, and kept whether
// all new ones have the old format. tightened is the impact of a new format.
func (w *walk) formats(old, new *Props, at node, implied, kept bool, tightened Impact) {
	if old.Format == new.Format && typeName(old) == typeName(new) {
		return
	}
	was, is := w.knows(old), w.knows(new)
	if old.Format == new.Format && was == is {
		return
	}
	oldName, newName := formatName(old.Format), formatName(new.Format)
	kind, impact := "FormatChanged", harmless
	var message string
	rejected := fmt.Sprintf("values that are not a valid %s are rejected", new.Format)
	switch {
	case !was && !is:
		message = "API servers do not validate formats that they do not know for the type"
		if old.Format == "" {
			kind = "FormatAdded"
		} else if new.Format == "" {
			kind = "FormatRemoved"
		}
	case !was && implied:
		kind, message = "FormatAdded", "all old values have the format"
	case !was:
		kind, impact, message = "FormatAdded", tightened, rejected
	case !is && kept && w.kindsOf(old)&texts == 0:
		kind, message = "FormatRemoved", "all values have the format"
	case !is:
		kind, impact = "FormatRemoved", careForReaders
		message = fmt.Sprintf("values need not be a valid %s any more", old.Format)
		if w.kindsOf(old)&texts != 0 { // rules see dates and durations as such
			impact = careForAll
			message += "; lists, which API servers accept for a string with a format, are rejected"
		}
	case oldName == newName:
		impact, message = at.seen(Compatible), "another name of the same format"
	case implied && kept:
		message = "all values have both formats"
	case wider[oldName] == newName:
		impact, message = at.seen(NeedsCare), fmt.Sprintf("readers can get values that are not a valid %s", old.Format)
	case wider[newName] == oldName:
		impact, message = tightened, rejected
	default:
		impact, message = Impact{at.stored(), Breaking, Breaking}, rejected
	}
	w.report(kind, impact, at.at("format"), text(old.Format), text(new.Format), "%s", message)
}

// text returns s, or nil if it is empty.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// listTypes compares x-kubernetes-list-type, -list-map-keys and -map-type. The managedFields of stored objects refer to
// the old type, so each change affects server-side apply.
func (w *walk) listTypes(old, new *Props, at node) {
	what := "items"
	if stringOf(new.XListType, "") == "map" {
		what = "items with equal keys"
	}
	for _, t := range []struct {
		keyword, kind, of, otherwise string
		old, new                     *string
		atomic, merged               Impact
		atomicMessage, mergedMessage string
	}{
		{"x-kubernetes-list-type", "ListTypeChanged", "lists", "atomic", old.XListType, new.XListType,
			careForAll, Impact{Stored: NeedsCare, Writers: Breaking},
			"items may be equal, and one applier owns the whole list; as a " + stringOf(old.XListType, "") + " it was merged",
			"duplicate " + what + " are rejected, except in objects that already have them; appliers own and merge single items"},
		{"x-kubernetes-map-type", "MapTypeChanged", "objects", "granular", old.XMapType, new.XMapType,
			careForWrites, careForWrites, "one applier owns the whole object; its fields were merged",
			"appliers own and merge single fields; one applier owned the whole object"},
	} {
		impact, message := t.merged, t.mergedMessage
		switch was, is := stringOf(t.old, t.otherwise), stringOf(t.new, t.otherwise); {
		case was == is && equal(t.old, t.new):
			continue
		case was == is:
			impact, message = harmless, "no effect: "+t.otherwise+" is the default of "+t.of
		case is == "atomic":
			impact, message = t.atomic, t.atomicMessage
		}
		w.report(t.kind, impact, at.at(t.keyword), pointee(t.old), pointee(t.new), "%s", message)
	}
	if stringOf(old.XListType, "") == "map" && stringOf(new.XListType, "") == "map" {
		w.listMapKeys(old.XListMapKeys, new.XListMapKeys, at.at("x-kubernetes-list-map-keys"))
	}
}

func (w *walk) listMapKeys(old, new []string, at tree.Path) {
	switch missing := slices.ContainsFunc(old, func(k string) bool { return !slices.Contains(new, k) }); {
	case slices.Equal(old, new):
	case missing:
		w.report("ListMapKeysChanged", Impact{Stored: NeedsCare, Writers: Breaking}, at, old, new,
			"other keys identify items: items with equal keys are rejected, except in objects that already have them")
	case len(old) == len(new):
		w.report("ListMapKeysChanged", harmless, at, old, new, "no effect: the same keys in another order")
	default:
		w.report("ListMapKeysChanged", careForAll, at, old, new,
			"more keys identify items: appliers and their managedFields use fewer")
	}
}
