package plan

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// draft is an error that may still be dropped or ratcheted.
type draft struct {
	violation.Violation
	text      string // of the validators' own error: errors with equal texts are reported once
	cost      int    // of the limit on violations
	ratcheted bool   // the value is unchanged
}

// report appends an error about the value at i, or about its absent member. text is that of the validators' own error,
// and at the dotted path that the error's field is set from.
func (e *explainer) report(keyword string, i uint32, member tree.Path, at, text string, err *field.Error) {
	e.at.setField(err, at)
	if e.found == nil {
		e.found = make([]draft, 0, 8) // the usual number
	}
	v := e.violation(violation.Schema, i, err, member, keyword)
	v.AtNode = len(member) == 0
	e.found = append(e.found, draft{Violation: v, text: text, cost: e.take(err, i, e.trial > 0)})
}

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
		e.at.Budget.Give(found[k].cost)
	}
}

// cut drops the errors from start on: those of a branch that is not reported.
func (e *explainer) cut(start int) {
	e.drop(e.found[start:])
	e.found = e.found[:start]
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

// unplaced returns the path for setField of an error to which upstream gives the field of the whole run.
func unplaced(at string) string {
	if quirk.On(quirk.FieldNilForSummaries) {
		return ""
	}
	return at
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
	at := e.dotted()
	t := e.textAt(at, parts...)
	e.report(keyword, i, nil, at, t, field.Invalid(nil, bad, detail(t, at)))
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
	at := e.dotted()
	t := e.texts().Text(func(b []byte) []byte {
		b = append(append(append(append(b, at...), " in body must be of type "...), want...), ": "...)
		return violation.AppendQuoted(b, word)
	})
	bad := types[word].name // does not allocate
	if bad == nil {
		bad = e.texts().Clone(word)
	}
	if !quirk.On(quirk.TypeNameAsBadValue) {
		bad = e.d.Any(i)
	}
	err := field.TypeInvalid(nil, bad, detail(t, at))
	if e.d.Nodes[i].Kind == tree.String && keyword == "format" && !quirk.On(quirk.FormatErrorIsTypeError) {
		err.Type = field.ErrorTypeInvalid
	}
	e.report(keyword, i, nil, at, t, err)
}

// summary reports that a logical operator failed. The first verb of the format is for the dotted path.
func (e *explainer) summary(keyword string, i uint32, format string, args ...any) {
	at := e.dotted()
	t := fmt.Sprintf(format, append([]any{at}, args...)...)
	e.report(keyword, i, nil, unplaced(at), t, field.Invalid(nil, "", t))
}

// outOfRange reports that the value, or a bound of the schema, is not of the numeric type.
func (e *explainer) outOfRange(keyword string, i uint32, prefix, typ, format string) {
	at, declared := e.dotted(), "(default format)"
	if format != "" {
		declared = "with format " + format
	}
	t := fmt.Sprintf("%s value must be of type %s %s in %s", prefix, typ, declared, at)
	err, position := field.Invalid(nil, "", t), unplaced(at)
	if prefix == "Checked" && !quirk.On(quirk.NumberFormatsByType) {
		err.Type, position = field.ErrorTypeTypeInvalid, at
	}
	e.report(keyword, i, nil, position, t, err)
}

// count checks the number of items or properties. suffix is that of the keywords: Items or Properties.
func (e *explainer) count(i uint32, suffix string, least, most *int64) {
	size := int64(e.d.Nodes[i].Live)
	if least != nil && size < *least {
		e.invalid("min"+suffix, i, size, " in body should have at least ", strconv.FormatInt(*least, 10), " ",
			strings.ToLower(suffix))
	}
	if most != nil && size > *most {
		at := e.dotted()
		t := e.textAt(at, " in body should have at most ", strconv.FormatInt(*most, 10), " ", strings.ToLower(suffix))
		err := field.TooMany(nil, int(size), int(*most))
		if suffix == "Properties" && !quirk.On(quirk.TooLongSaysBytes) {
			err = field.Invalid(nil, size, t)
		}
		e.report("max"+suffix, i, nil, at, t, err)
	}
}

// required reports an absent member. A dot precedes its name even at the root, where the field loses it again.
func (e *explainer) required(object uint32, name string) {
	const suffix = " in body is required"
	t := e.textAt(e.dotted(), ".", name, suffix)
	e.report("required", object, tree.Path{tree.Name(name)}, t[:len(t)-len(suffix)], t, field.Required(nil, ""))
}

// forbidden reports a member that additionalProperties: false excludes, at the path of the object.
func (e *explainer) forbidden(member uint32, key string) {
	key = e.texts().Clone(key)
	at := e.dotted()
	t := e.textAt(at, ".", key, " in body is a forbidden property")
	e.report("additionalProperties", member, tree.Path{tree.Name(key)}, at, t, field.Invalid(nil, key, t))
}

// notInEnum reports a value that is not in the enum. The text lists strings bare and other values as JSON, all quoted.
func (e *explainer) notInEnum(i uint32, bad any, values []any) {
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
	err := field.Invalid(nil, bad, supported)
	err.Type = field.ErrorTypeNotSupported
	at := e.dotted()
	e.report("enum", i, nil, at, e.texts().Text(func(b []byte) []byte {
		b = append(append(b, at...), " in body should be one of ["...)
		for k, v := range values {
			if k > 0 {
				b = append(b, ' ')
			}
			b = fmt.Append(b, v)
		}
		return append(b, ']')
	}), err)
}

func appendListed(text []byte, v any) []byte {
	if s, isText := v.(string); isText {
		return violation.AppendQuoted(text, s)
	}
	if !quirk.On(quirk.EnumValuesQuotedTwice) {
		return violation.AppendQuoted(text, fmt.Sprint(v))
	}
	return violation.AppendQuoted(text, string(tree.AppendAny(nil, v)))
}

// violations returns the reported and the ratcheted errors, each text once.
func (e *explainer) violations() (reported, ratcheted []violation.Violation) {
	if len(e.found) == 0 {
		return nil, nil
	}
	reported = make([]violation.Violation, 0, len(e.found))
	var known [2]violation.Texts // of reported and of ratcheted errors
	for k := range e.found {
		f, list, texts := &e.found[k], &reported, &known[0]
		if f.ratcheted {
			list, texts = &ratcheted, &known[1]
		}
		if e.tick(4) {
			break
		}
		if texts.Add(f.text) || !quirk.On(quirk.ErrorsDeduplicatedByText) {
			*list = append(*list, f.Violation)
		}
	}
	return reported, ratcheted
}
