package plan

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// draft is an error that may still be dropped or ratcheted.
type draft struct {
	violation.Violation        // without an Error if it is not reported
	text                string // of the validators' own error: errors with equal texts are reported once
	cost                int    // of the limit on violations

	ratcheted bool // the value is unchanged
}

// about is the subject of an error: node i, and a keyword of its schema node or "".
type about struct {
	keyword string
	node    uint32
	// unplaced: the error has the field of the whole run instead of a path.
	unplaced bool
	// member is the path from the node to an absent member, if the error is about that.
	member value.Path
}

// report appends an error. fill returns it for the dotted path; report sets its field.
func (e *explainer) report(a about, fill func(at string) (text string, err *field.Error)) *draft {
	f := draft{}
	if e.quiet == 0 || e.marked() {
		at := e.dotted()
		f.text, f.Error = fill(at)
		if !a.unplaced || !quirk.On(quirk.FieldNilForSummaries) {
			e.at.setField(f.Error, at)
		} else {
			f.Field = e.at.Field.String()
		}
	}
	if f.Error == nil && len(e.found) > e.floor {
		e.hidden = f
		return &e.hidden // one is enough to tell that the branch failed
	}
	if f.Error != nil {
		f.Violation = e.violation(violation.Schema, a.node, f.Error, a.member, a.keyword)
		f.cost = e.take(f.Error, a.node, e.trial > 0)
	}
	if e.found == nil {
		e.found = make([]draft, 0, usualErrors)
	}
	e.found = append(e.found, f)
	return &e.found[len(e.found)-1]
}

// usualErrors is the usual number of errors of an invalid object.
const usualErrors = 8

// keep appends errors that do not count for the limit yet.
func (e *explainer) keep(found []draft) {
	for _, f := range found {
		f.cost = e.take(f.Error, f.Node, e.trial > 0)
		e.found = append(e.found, f)
	}
}

// drop returns what errors took of the limit.
func (e *explainer) drop(found []draft) {
	for k := range found {
		if found[k].Error != nil {
			e.at.Budget.Give(found[k].cost)
		}
	}
}

// cut drops the errors from start on: those of a branch that is not reported.
func (e *explainer) cut(start int) {
	e.drop(e.found[start:])
	e.found = e.found[:start]
}

// try and tried enclose the validation of branches whose errors may be dropped.
func (e *explainer) try() { e.trial++ }

func (e *explainer) tried() {
	if e.trial--; e.trial == 0 && !e.at.Budget.Fits() {
		e.done = true
	}
}

// setField sets the field of an error from the dotted path. Upstream drops one leading dot, and a path that is only a
// dot.
func (a *At) setField(err *field.Error, dotted string) {
	switch {
	case dotted == "" || dotted == ".":
		err.Field = a.Field.String()
	case a.Field == nil:
		err.Field = strings.TrimPrefix(dotted, ".")
	default:
		err.Field = a.Field.Child(strings.TrimPrefix(dotted, ".")).String()
	}
}

// plain returns an error without a path.
func (a *At) plain(text string) *field.Error {
	err := field.Invalid(nil, "", text)
	err.Field = a.Field.String()
	return err
}

// bad returns the value at node i as upstream holds it.
func (e *explainer) bad(i uint32) any {
	if e.quiet > 0 {
		return nil
	}
	return e.d.Any(i)
}

// textAt returns the text of a path and more parts.
func (e *explainer) textAt(at string, parts ...string) string {
	return e.texts().Text(func(text []byte) []byte {
		text = append(text, at...)
		for _, part := range parts {
			text = append(text, part...)
		}
		return text
	})
}

// invalid reports an error of the common kind: its text is the dotted path with the parts, and so is its detail.
func (e *explainer) invalid(keyword string, i uint32, bad any, parts ...string) {
	e.report(about{keyword: keyword, node: i}, func(at string) (string, *field.Error) {
		t := e.textAt(at, parts...)
		return t, field.Invalid(nil, bad, detail(t, at))
	})
}

// detail returns the whole text: upstream repeats the path in it.
func detail(text, at string) string {
	if !quirk.On(quirk.DetailRepeatsPath) {
		return strings.TrimPrefix(text, at+" in body ")
	}
	return text
}

// wrongType reports a value that is not of a type or format. Upstream reports a word as the bad value: the type, the
// inferred format, or the text that does not match the format.
func (e *explainer) wrongType(keyword string, i uint32, want, word string) {
	e.report(about{keyword: keyword, node: i}, func(at string) (string, *field.Error) {
		quoted := e.texts().Text(func(b []byte) []byte { return violation.AppendQuoted(b, word) })
		t := e.textAt(at, " in body must be of type ", want, ": ", quoted)
		var bad any
		if quirk.On(quirk.TypeNameAsBadValue) {
			bad = e.texts().Clone(word)
		} else {
			bad = e.bad(i)
		}
		if isFormat := e.d.Nodes[i].Kind == value.String && keyword == "format"; isFormat &&
			!quirk.On(quirk.FormatErrorIsTypeError) {
			return t, field.Invalid(nil, bad, detail(t, at))
		}
		return t, field.TypeInvalid(nil, bad, detail(t, at))
	})
}

// summary reports that a logical operator failed. format has one verb for the dotted path.
func (e *explainer) summary(keyword string, i uint32, format string) {
	e.report(about{keyword: keyword, node: i, unplaced: true}, func(at string) (string, *field.Error) {
		t := fmt.Sprintf(format, at)
		return t, field.Invalid(nil, "", t)
	})
}

// outOfRange reports that the value, or a bound of the schema, is not of the numeric type.
func (e *explainer) outOfRange(keyword string, i uint32, prefix, typ, format string) {
	if keyword == "" {
		keyword = "type"
		if format != "" {
			keyword = "format"
		}
	}
	placed := prefix == "Checked" && !quirk.On(quirk.NumberFormatsByType)
	e.report(about{keyword: keyword, node: i, unplaced: !placed}, func(at string) (string, *field.Error) {
		t := fmt.Sprintf("%s value must be of type %s (default format) in %s", prefix, typ, at)
		if format != "" {
			t = fmt.Sprintf("%s value must be of type %s with format %s in %s", prefix, typ, format, at)
		}
		if placed {
			return t, field.TypeInvalid(nil, "", t)
		}
		return t, field.Invalid(nil, "", t)
	})
}

func (e *explainer) tooLong(i uint32, most int64) {
	e.report(about{keyword: "maxLength", node: i}, func(at string) (string, *field.Error) {
		err := field.TooLong(nil, "", int(most))
		if !quirk.On(quirk.TooLongSaysBytes) {
			err = field.TooLongCharacters(nil, "", int(most))
		}
		return e.textAt(at, " in body should be at most ", strconv.FormatInt(most, 10), " chars long"), err
	})
}

func (e *explainer) tooMany(keyword string, i uint32, what string, most, size int64) {
	e.report(about{keyword: keyword, node: i}, func(at string) (string, *field.Error) {
		t := e.textAt(at, " in body should have at most ", strconv.FormatInt(most, 10), " ", what)
		if what == "properties" && !quirk.On(quirk.TooLongSaysBytes) {
			return t, field.Invalid(nil, size, t)
		}
		return t, field.TooMany(nil, int(size), int(most))
	})
}

func (e *explainer) tooFew(keyword string, i uint32, what string, least, size int64) {
	e.invalid(keyword, i, size, " in body should have at least ", strconv.FormatInt(least, 10), " ", what)
}

// required reports an absent member. A dot precedes its name even at the root, where the field loses it again.
func (e *explainer) required(object uint32, name string) {
	missing := about{keyword: "required", node: object, unplaced: true, member: value.Path{value.Name(name)}}
	f := e.report(missing, func(at string) (string, *field.Error) {
		return e.textAt(at, ".", name, " in body is required"), field.Required(nil, "")
	})
	if e.quiet == 0 {
		e.at.setField(f.Error, strings.TrimSuffix(f.text, " in body is required"))
	}
}

// forbidden reports a member that additionalProperties: false excludes, at the path of the object.
func (e *explainer) forbidden(member uint32, key string) {
	key = e.texts().Clone(key)
	e.report(about{keyword: "additionalProperties", node: member, member: value.Path{value.Name(key)}},
		func(at string) (string, *field.Error) {
			t := e.textAt(at, ".", key, " in body is a forbidden property")
			return t, field.Invalid(nil, key, t)
		})
}

// notInEnum reports a value that is not in the enum. The text lists strings bare and other values as JSON, all quoted.
func (e *explainer) notInEnum(i uint32, values []any) {
	e.report(about{keyword: "enum", node: i}, func(at string) (string, *field.Error) {
		supported := e.texts().Text(func(text []byte) []byte {
			text = append(text, "supported values: "...)
			for k, v := range values {
				if k > 0 {
					text = append(text, ", "...)
				}
				text = appendListed(text, v)
			}
			return text
		})
		err := field.Invalid(nil, e.bad(i), supported)
		err.Type = field.ErrorTypeNotSupported
		list := e.texts().Text(func(b []byte) []byte { return fmt.Append(b, values) })
		return e.textAt(at, " in body should be one of ", list), err
	})
}

func appendListed(text []byte, v any) []byte {
	if s, isText := v.(string); isText {
		return violation.AppendQuoted(text, s)
	}
	if !quirk.On(quirk.EnumValuesQuotedTwice) {
		return violation.AppendQuoted(text, fmt.Sprint(v))
	}
	return violation.AppendQuoted(text, string(value.AppendAny(nil, v)))
}

// violations returns the reported or the ratcheted errors, each text once.
func (e *explainer) violations(ratcheted bool) []violation.Violation {
	if len(e.found) == 0 {
		return nil
	}
	list := make([]violation.Violation, 0, len(e.found))
	known := map[string]bool{}
	for k := range e.found {
		if e.tick(4) {
			break
		}
		f := &e.found[k]
		if f.ratcheted != ratcheted || known[f.text] && quirk.On(quirk.ErrorsDeduplicatedByText) {
			continue
		}
		known[f.text] = true
		list = append(list, f.Violation)
	}
	return list
}
