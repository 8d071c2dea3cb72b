package compare

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/format"
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

// kindsOf are the kinds of values that a schema's type lets in, null aside.
func (w *walk) kindsOf(s *Props) kinds {
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
			return texts | lists // the API server lets lists through where a text has a format
		}
		return texts
	case "array":
		return lists
	case "object":
		return objects
	}
	return anything
}

// typeName is what a schema calls its type.
func typeName(s *Props) string {
	switch {
	case s.XIntOrString:
		return "int-or-string"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// types compares the types. It returns false if no value is of both.
func (w *walk) types(old, new *Props, at place) bool {
	if old.Type == new.Type && old.XIntOrString == new.XIntOrString {
		return true
	}
	before, after := w.kindsOf(old), w.kindsOf(new)
	keyword := at.at("type")
	if new.XIntOrString && new.Type == "" || old.XIntOrString && old.Type == "" && new.Type == "" {
		keyword = at.at("x-kubernetes-int-or-string")
	}
	f := found{kind: TypeChanged, at: keyword, old: typeName(old), new: typeName(new)}
	f.message = fmt.Sprintf("%s instead of %s", f.new, f.old)
	mixed := old.Type != "" && old.XIntOrString || new.Type != "" && new.XIntOrString // nobody writes that
	switch {
	case before&after == 0:
		f.impact = everybody(Breaking)
		f.message += ": no value is both"
	case mixed:
		f.impact = everybody(Care)
	default:
		if before&^after != 0 {
			f.impact.Stored, f.impact.Writers = Breaking, Breaking
			f.message += ": some values are refused"
		} else {
			f.impact.Stored, f.impact.Writers = at.seen(), at.seen()
			f.message += ": every old value is one"
			if at.ruled {
				f.message += ", but rules see it otherwise"
			}
		}
		if after&^before != 0 {
			f.impact.Readers = Breaking
			if after&^before == fractions {
				f.impact.Readers = Care
			}
			f.message += "; readers find values of other types"
		}
	}
	w.tell(f)
	return before&after != 0
}

// nullable compares whether null is a value.
func (w *walk) nullable(old, new *Props, at place) {
	keyword := at.at("nullable")
	switch {
	case new.Nullable && !old.Nullable:
		w.tell(found{kind: NullableAdded, impact: Impact{Readers: Care}, at: keyword, old: false, new: true, message: "null is a value: readers find it"})
	case old.Nullable && !new.Nullable:
		f := found{kind: NullableRemoved, at: keyword, old: true, new: false, impact: Impact{Stored: Care, Writers: Care}, message: "null is dropped"}
		switch {
		case hasDefault(new):
			f.message = "null is replaced with the default"
		case at.demanded || at.item:
			f.impact, f.message = Impact{Stored: Breaking, Writers: Breaking}, "null is refused"
		}
		w.tell(f)
	}
}

// knows reports whether the API server minds the format of a schema.
func (w *walk) knows(s *Props) bool {
	return format.Supported(s.Format, typesOf(s), w.Minor)
}

func typesOf(s *Props) []string {
	switch {
	case s.XIntOrString:
		return []string{"integer", "string"}
	case s.Type == "":
		return nil
	}
	return []string{s.Type}
}

// wider are the formats that all values of another satisfy, too.
var wider = map[string]string{
	"int32": "int64", "float": "double",
	"uuid3": "uuid", "uuid4": "uuid", "uuid5": "uuid", "isbn10": "isbn", "isbn13": "isbn",
}

// within reports whether all values of one format satisfy another.
func within(some, all string) bool { return wider[plain(some)] == plain(all) }

// plain is the name by which a format is known.
func plain(name string) string {
	if id := format.Lookup(name); id != format.None {
		return id.String()
	}
	return name
}

// formats compares the formats.
func (w *walk) formats(old, new *Props, at place) {
	if old.Format == new.Format && typeName(old) == typeName(new) {
		return
	}
	was, is := w.knows(old), w.knows(new)
	keyword := at.at("format")
	f := found{kind: FormatChanged, at: keyword}
	if old.Format != "" {
		f.old = old.Format
	}
	if new.Format != "" {
		f.new = new.Format
	}
	switch {
	case old.Format == new.Format && was == is:
		return
	case !was && !is:
		f.message = "nobody checks a format that is not known for the type"
		switch {
		case f.old == nil:
			f.kind = FormatAdded
		case f.new == nil:
			f.kind = FormatRemoved
		}
	case !was:
		f.kind, f.impact = FormatAdded, at.tightened()
		f.message = fmt.Sprintf("values that are no %s are refused", new.Format)
	case !is:
		f.kind, f.impact = FormatRemoved, Impact{Readers: Care}
		f.message = fmt.Sprintf("values need not be %s any more", old.Format)
		if w.kindsOf(old)&texts != 0 {
			f.impact.Stored, f.impact.Writers = Care, Care // for lists, and for rules, which see times and durations as such
			f.message += "; lists, which pass as texts with a format, are refused"
		}
	case plain(old.Format) == plain(new.Format):
		f.impact.Stored, f.impact.Writers = at.seen(), at.seen()
		f.message = "another spelling of the same"
	default:
		f.impact = everybody(Breaking)
		f.impact.Stored = at.stored()
		f.message = fmt.Sprintf("values that are no %s are refused", new.Format)
		switch {
		case within(old.Format, new.Format):
			f.impact = Impact{Stored: at.seen(), Writers: at.seen(), Readers: Care}
			f.message = fmt.Sprintf("readers find values that are no %s", old.Format)
		case within(new.Format, old.Format):
			f.impact.Readers = Compatible
		}
	}
	w.tell(f)
}
