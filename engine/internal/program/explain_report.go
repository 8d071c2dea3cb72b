package program

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/violation"
)

// finding is one finding on its way to a violation.
type finding struct {
	text    string // of the validators' own error: findings with one text are one
	err     *field.Error
	way     []step
	keyword string // below the schema node, "" for none
	member  string // the member of node that is meant, if it is absent
	missing bool
	node    uint32
	cost    int // of the room for findings

	forgiven bool // the value that it is about is what it was
}

// report appends a finding about node i. The error is built by fill from the dotted path of the place; it gets its field here,
// or the field of the whole run if it is about no place.
func (e *explainer) report(keyword string, i uint32, placed bool, fill func(at string) (text string, err *field.Error)) *finding {
	f := finding{keyword: keyword, node: i}
	if e.quiet == 0 || e.marked() {
		at := e.dotted()
		f.text, f.err = fill(at)
		f.way = slices.Clone(e.way)
		if placed || !quirk.On(2) {
			e.at.place(f.err, at)
		} else {
			f.err.Field = e.at.Field.String()
		}
	}
	if f.err == nil && len(e.found) > e.floor {
		e.unseen = f
		return &e.unseen // one tells that the branch failed
	}
	if f.err != nil {
		f.cost = e.take(f.err, i, e.trial > 0)
	}
	e.found = append(e.found, f)
	return &e.found[len(e.found)-1]
}

// keep appends findings that have no room yet.
func (e *explainer) keep(found []finding) {
	for _, f := range found {
		f.cost = e.take(f.err, f.node, e.trial > 0)
		e.found = append(e.found, f)
	}
}

// drop gives back the room of findings.
func (e *explainer) drop(found []finding) {
	for k := range found {
		if found[k].err != nil {
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

// invalid reports a finding of the common kind: the text that text makes of the dotted path is its detail as well.
func (e *explainer) invalid(keyword string, i uint32, bad any, text func(at string) string) {
	e.report(keyword, i, true, func(at string) (string, *field.Error) {
		t := text(at)
		return t, field.Invalid(nil, bad, detail(t, at))
	})
}

// detail is the text itself: the reference repeats the place in it.
func detail(text, at string) string {
	if !quirk.On(4) {
		return strings.TrimPrefix(text, at+" in body ")
	}
	return text
}

// wrongType reports a value that is not of a type or format. What the reference calls the value is a word that describes it:
// its type, the format inferred from it, or for a text that is no such format the text.
func (e *explainer) wrongType(keyword string, i uint32, want, word string) {
	e.report(keyword, i, true, func(at string) (string, *field.Error) {
		t := fmt.Sprintf("%s in body must be of type %s: %q", at, want, word)
		var bad any = strings.Clone(word)
		if !quirk.On(3) {
			bad = e.bad(i)
		}
		if isFormat := e.d.Nodes[i].Kind == value.String && keyword == "format"; isFormat && !quirk.On(26) {
			return t, field.Invalid(nil, bad, detail(t, at))
		}
		return t, field.TypeInvalid(nil, bad, detail(t, at))
	})
}

// summary reports that a junctor failed; format has one verb for the dotted path.
func (e *explainer) summary(keyword string, i uint32, format string) {
	e.report(keyword, i, false, func(at string) (string, *field.Error) {
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
	placed := prefix == "Checked" && !quirk.On(20)
	e.report(keyword, i, placed, func(at string) (string, *field.Error) {
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
	e.report("maxLength", i, true, func(at string) (string, *field.Error) {
		err := field.TooLong(nil, "", int(most))
		if !quirk.On(5) {
			err = field.TooLongCharacters(nil, "", int(most))
		}
		return fmt.Sprintf("%s in body should be at most %d chars long", at, most), err
	})
}

func (e *explainer) tooMany(keyword string, i uint32, what string, most, size int64) {
	e.report(keyword, i, true, func(at string) (string, *field.Error) {
		t := fmt.Sprintf("%s in body should have at most %d %s", at, most, what)
		if what == "properties" && !quirk.On(5) {
			return t, field.Invalid(nil, size, t)
		}
		return t, field.TooMany(nil, int(size), int(most))
	})
}

func (e *explainer) tooFew(keyword string, i uint32, what string, least, size int64) {
	e.invalid(keyword, i, size, func(at string) string {
		return fmt.Sprintf("%s in body should have at least %d %s", at, least, what)
	})
}

// required reports an absent member. A dot precedes its name even at the root, where the field loses it again.
func (e *explainer) required(object uint32, name string) {
	f := e.report("required", object, false, func(at string) (string, *field.Error) {
		at += "." + name
		return at + " in body is required", field.Required(nil, "")
	})
	f.member, f.missing = name, true
	if e.quiet == 0 {
		e.at.place(f.err, e.dotted()+"."+name)
	}
}

// forbidden reports a member that additionalProperties: false excludes; the place is the object's.
func (e *explainer) forbidden(member uint32, key string) {
	f := e.report("additionalProperties", member, true, func(at string) (string, *field.Error) {
		t := at + "." + key + " in body is a forbidden property"
		return t, field.Invalid(nil, strings.Clone(key), t)
	})
	f.member, f.missing = strings.Clone(key), true
}

// notInEnum reports a value that is none of the enum's; texts are listed bare, everything else as JSON, and all are quoted.
func (e *explainer) notInEnum(i uint32, values []any) {
	e.report("enum", i, true, func(at string) (string, *field.Error) {
		listed := make([]string, len(values))
		for k, v := range values {
			if s, isText := v.(string); isText {
				listed[k] = s
			} else if quirk.On(10) {
				b, _ := json.Marshal(v) // values that came from JSON always marshal
				listed[k] = string(b)
			} else {
				listed[k] = fmt.Sprint(v)
			}
		}
		return fmt.Sprintf("%s in body should be one of %v", at, values), field.NotSupported(nil, e.bad(i), listed)
	})
}

// violations gives what was found, or what of it was forgiven, its public form, each text once.
func (e *explainer) violations(forgiven bool) []violation.Violation {
	if len(e.found) == 0 {
		return nil
	}
	list := make([]violation.Violation, 0, len(e.found))
	seen := make(map[string]struct{}, len(e.found))
	for k := range e.found {
		if e.tick(4) {
			break
		}
		f := &e.found[k]
		if f.forgiven != forgiven {
			continue
		}
		if _, known := seen[f.text]; known && quirk.On(7) {
			continue
		}
		seen[f.text] = struct{}{}
		v := violation.Violation{
			Error:  f.err,
			Path:   append(e.at.Path.Clone(), pathOf(f.way)...),
			Node:   f.node,
			Schema: e.at.Schema + pointerOf(f.way),
			Step:   violation.Schema,
		}
		if f.missing {
			v.Path = append(v.Path, value.Name(f.member))
		}
		if f.keyword != "" {
			v.Schema += "/" + f.keyword
		}
		list = append(list, v)
	}
	return list
}

// dotted is the path in the dialect of kube-openapi: no brackets around map keys, and a dot before a declared property only if
// something precedes it.
func (e *explainer) dotted() string {
	var b []byte
	for k := range e.way {
		switch s := &e.way[k]; s.kind {
		case stepProperty:
			if len(b) > 0 {
				b = append(b, '.')
			}
			b = append(b, s.name...)
		case stepAdditional, stepPattern, stepDependency:
			if !quirk.On(1) {
				b = append(append(append(b, '['), s.name...), ']')
				continue
			}
			b = append(append(b, '.'), s.name...)
		case stepItem:
			b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
		}
	}
	return string(b)
}
