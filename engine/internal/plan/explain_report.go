package plan

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// finding is one finding on its way out.
type finding struct {
	violation.Violation        // without an Error: nobody will see it
	text                string // of the validators' own error: findings with one text are one
	cost                int    // of the room for findings

	forgiven bool // the value that it is about is what it was
}

// about is what a finding is about: node i, by a keyword below the schema node ("" for none).
type about struct {
	keyword string
	node    uint32
	// unplaced: the error has the field of the whole run, for it is about no place.
	unplaced bool
	// member is the member of the node that is meant, if it is absent: one step more.
	member value.Path
}

// report appends a finding. The error is built by fill from the dotted path of the place; it gets its field here.
func (e *explainer) report(a about, fill func(at string) (text string, err *field.Error)) *finding {
	f := finding{}
	if e.quiet == 0 || e.marked() {
		at := e.dotted()
		f.text, f.Error = fill(at)
		if !a.unplaced || !quirk.On(quirk.FieldNilForSummaries) {
			e.at.place(f.Error, at)
		} else {
			f.Field = e.at.Field.String()
		}
	}
	if f.Error == nil && len(e.found) > e.floor {
		e.unseen = f
		return &e.unseen // one tells that the branch failed
	}
	if f.Error != nil {
		f.Violation = e.violation(violation.Schema, a.node, f.Error, a.member, a.keyword)
		f.cost = e.take(f.Error, a.node, e.trial > 0)
	}
	if e.found == nil {
		e.found = make([]finding, 0, usualFindings)
	}
	e.found = append(e.found, f)
	return &e.found[len(e.found)-1]
}

// usualFindings is how many findings an object mostly has, if it has any.
const usualFindings = 8

// keep appends findings that have no room yet.
func (e *explainer) keep(found []finding) {
	for _, f := range found {
		f.cost = e.take(f.Error, f.Node, e.trial > 0)
		e.found = append(e.found, f)
	}
}

// drop gives back the room of findings.
func (e *explainer) drop(found []finding) {
	for k := range found {
		if found[k].Error != nil {
			e.at.Room.Give(found[k].cost)
		}
	}
}

// cut forgets the findings from start on: those of a branch that a junctor need not report.
func (e *explainer) cut(start int) {
	e.drop(e.found[start:])
	e.found = e.found[:start]
}

// try begins to judge branches whose findings may be dropped, and tried ends that.
func (e *explainer) try() { e.trial++ }

func (e *explainer) tried() {
	if e.trial--; e.trial == 0 && !e.at.Room.Fits() {
		e.done = true
	}
}

// place sets the field of an error about the dotted path: upstream drops one leading dot, and a path that is a dot altogether.
func (a *At) place(err *field.Error, dotted string) {
	switch {
	case dotted == "" || dotted == ".":
		err.Field = a.Field.String()
	case a.Field == nil:
		err.Field = strings.TrimPrefix(dotted, ".")
	default:
		err.Field = a.Field.Child(strings.TrimPrefix(dotted, ".")).String()
	}
}

// plain is an error about no place.
func (a *At) plain(text string) *field.Error {
	err := field.Invalid(nil, "", text)
	err.Field = a.Field.String()
	return err
}

// bad is the value at node i as the reference holds it.
func (e *explainer) bad(i uint32) any {
	if e.quiet > 0 {
		return nil
	}
	return e.d.Any(i)
}

// invalid reports a finding of the common kind: the text that words append to the dotted path of the place is its detail as well.
func (e *explainer) invalid(keyword string, i uint32, bad any, words func(text []byte) []byte) {
	e.report(about{keyword: keyword, node: i}, func(at string) (string, *field.Error) {
		t := e.words(at, words)
		return t, field.Invalid(nil, bad, detail(t, at))
	})
}

// words is a text that begins with a place.
func (e *explainer) words(at string, more func(text []byte) []byte) string {
	return e.texts().Text(func(text []byte) []byte { return more(append(text, at...)) })
}

// detail is the text itself: the reference repeats the place in it.
func detail(text, at string) string {
	if !quirk.On(quirk.DetailRepeatsPath) {
		return strings.TrimPrefix(text, at+" in body ")
	}
	return text
}

// wrongType reports a value that is not of a type or format. What the reference calls the value is a word that describes it:
// its type, the format inferred from it, or for a text that is no such format the text.
func (e *explainer) wrongType(keyword string, i uint32, want, word string) {
	e.report(about{keyword: keyword, node: i}, func(at string) (string, *field.Error) {
		t := e.words(at, func(text []byte) []byte {
			return violation.AppendQuoted(append(append(append(text, " in body must be of type "...), want...), ": "...), word)
		})
		var bad any
		if quirk.On(quirk.TypeNameAsBadValue) {
			bad = e.texts().Clone(word)
		} else {
			bad = e.bad(i)
		}
		if isFormat := e.d.Nodes[i].Kind == value.String && keyword == "format"; isFormat && !quirk.On(quirk.FormatErrorIsTypeError) {
			return t, field.Invalid(nil, bad, detail(t, at))
		}
		return t, field.TypeInvalid(nil, bad, detail(t, at))
	})
}

// summary reports that a junctor failed; format has one verb for the dotted path.
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
		return e.words(at, func(text []byte) []byte {
			return append(strconv.AppendInt(append(text, " in body should be at most "...), most, 10), " chars long"...)
		}), err
	})
}

func (e *explainer) tooMany(keyword string, i uint32, what string, most, size int64) {
	e.report(about{keyword: keyword, node: i}, func(at string) (string, *field.Error) {
		t := e.words(at, func(text []byte) []byte {
			return append(append(strconv.AppendInt(append(text, " in body should have at most "...), most, 10), ' '), what...)
		})
		if what == "properties" && !quirk.On(quirk.TooLongSaysBytes) {
			return t, field.Invalid(nil, size, t)
		}
		return t, field.TooMany(nil, int(size), int(most))
	})
}

func (e *explainer) tooFew(keyword string, i uint32, what string, least, size int64) {
	e.invalid(keyword, i, size, func(text []byte) []byte {
		return append(append(strconv.AppendInt(append(text, " in body should have at least "...), least, 10), ' '), what...)
	})
}

// required reports an absent member. A dot precedes its name even at the root, where the field loses it again.
func (e *explainer) required(object uint32, name string) {
	missing := about{keyword: "required", node: object, unplaced: true, member: value.Path{value.Name(name)}}
	f := e.report(missing, func(at string) (string, *field.Error) {
		return e.words(at, func(text []byte) []byte {
			return append(append(append(text, '.'), name...), " in body is required"...)
		}), field.Required(nil, "")
	})
	if e.quiet == 0 {
		e.at.place(f.Error, strings.TrimSuffix(f.text, " in body is required"))
	}
}

// forbidden reports a member that additionalProperties: false excludes; the place is the object's.
func (e *explainer) forbidden(member uint32, key string) {
	key = e.texts().Clone(key)
	e.report(about{keyword: "additionalProperties", node: member, member: value.Path{value.Name(key)}}, func(at string) (string, *field.Error) {
		t := e.words(at, func(text []byte) []byte {
			return append(append(append(text, '.'), key...), " in body is a forbidden property"...)
		})
		return t, field.Invalid(nil, key, t)
	})
}

// notInEnum reports a value that is none of the enum's; texts are listed bare, everything else as JSON, and all are quoted.
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
		t := e.words(at, func(text []byte) []byte { return appendValues(append(text, " in body should be one of "...), values) })
		err := field.Invalid(nil, e.bad(i), supported)
		err.Type = field.ErrorTypeNotSupported
		return t, err
	})
}

// appendValues appends what fmt makes of a list.
func appendValues(text []byte, values []any) []byte {
	text = append(text, '[')
	for k, v := range values {
		if k > 0 {
			text = append(text, ' ')
		}
		if s, isText := v.(string); isText {
			text = append(text, s...)
		} else {
			text = fmt.Append(text, v)
		}
	}
	return append(text, ']')
}

func appendListed(text []byte, v any) []byte {
	if s, isText := v.(string); isText {
		return violation.AppendQuoted(text, s)
	}
	if !quirk.On(quirk.EnumValuesQuotedTwice) {
		return violation.AppendQuoted(text, fmt.Sprint(v))
	}
	return violation.AppendQuoted(text, string(violation.AppendValue(nil, v)))
}
