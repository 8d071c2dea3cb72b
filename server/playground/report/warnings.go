package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/server/quickfix"
)

// warnings returns the warnings of the CRD, with fixes.
func (c *compiled) warnings() []Warning {
	list := []Warning{}
	for _, text := range c.report.Warnings {
		w := c.document.warning(text)
		if w.Range == nil {
			c.document.locateSchemaWarning(&w)
		}
		list = append(list, w)
	}
	return list
}

// warnings returns the warnings of the write. A warning about an unknown field or a ratcheted violation has the range
// and the fixes that out has for it.
func (w *write) warnings(v *engine.Verdict, out *Object) []Warning {
	d, list := w.object, []Warning{}
	for _, text := range v.Warnings {
		one := Warning{Document: d.name, Message: text, Fixes: []Fix{}}
		pruned := slices.IndexFunc(out.Changes, func(c Change) bool {
			return c.Op == OpPruned && text == `unknown field "`+c.Path+`"`
		})
		ratcheted := slices.IndexFunc(out.Ratcheted, func(r Violation) bool { return text == r.Field+": "+r.Message })
		switch {
		case pruned >= 0:
			c := &out.Changes[pruned]
			one.Range, one.Hint, one.Fixes = c.Range, c.Hint, c.Fixes
		case ratcheted >= 0:
			r := &out.Ratcheted[ratcheted]
			one.Range, one.Hint, one.Fixes = r.Range, r.Hint, r.Fixes
		case w.version != nil && w.version.Deprecated && text == w.version.DeprecationWarning:
			if w.input.Subresource != "scale" { // a Scale has a version of its own
				one.Range, one.Fixes = d.rangeOf("/apiVersion"), w.newerVersion()
			}
		case strings.HasPrefix(text, `crdeval: an object with a list "items"`):
			one.Range = d.keyRange("/items")
		default:
			one = d.warning(text)
		}
		list = append(list, one)
	}
	return list
}

// newerVersion returns a fix that replaces a deprecated version by the served one with the highest priority.
func (w *write) newerVersion() []Fix {
	list := []Fix{}
	i := slices.IndexFunc(w.report.Versions, func(v engine.VersionInfo) bool { return v.Served && !v.Deprecated })
	if i < 0 || w.input.Version != "" {
		return list
	}
	name := w.definition.Group() + "/" + w.report.Versions[i].Name
	return append(list, w.object.fixes(w.object.Change("/apiVersion", value.AppendString(nil, name)))...)
}

// The texts of warnings that name a place.
var (
	fieldWarning     = regexp.MustCompile(`(?s)^(unknown|duplicate) field "(.*)"$`)
	lineWarning      = regexp.MustCompile(`^line (\d+): `)
	finalizerWarning = regexp.MustCompile(`(?s)^metadata\.finalizers: ("(?:[^"\\]|\\.)*"): `)
	formatWarning    = regexp.MustCompile(`(?s)^unrecognized format (".*")$`)
	setWarning       = regexp.MustCompile(`^x-kubernetes-list-type: set for items of type "(object|array)" `)
)

// warning returns a warning, with the range of the place that its text names.
func (d *document) warning(text string) Warning {
	out := Warning{Document: d.name, Message: text, Fixes: []Fix{}}
	if m := fieldWarning.FindStringSubmatch(text); m != nil {
		pointer, ok := d.PointerOf(m[2])
		if !ok {
			return out
		}
		out.Range = d.keyRange(pointer)
		if m[1] == "unknown" {
			out.Fixes = d.fixes(d.Remove(pointer, m[2]))
		}
	} else if m := lineWarning.FindStringSubmatch(text); m != nil {
		out.Range = d.lineRange(number(m[1]))
	} else if m := finalizerWarning.FindStringSubmatch(text); m != nil {
		name, _ := strconv.Unquote(m[1])
		if item, ok := d.ItemOf("/metadata/finalizers", name); ok {
			out.Range = d.rangeOf(item)
		}
	} else if strings.HasPrefix(text, ".metadata.ownerReferences ") {
		out.Range = d.keyRange("/metadata/ownerReferences")
	}
	return out
}

// locateSchemaWarning adds the range to a warning about a keyword of a schema. If several schemas have the keyword, it
// is that of the first, and there is no fix.
func (d *document) locateSchemaWarning(w *Warning) {
	var found []string
	if m := formatWarning.FindStringSubmatch(w.Message); m != nil {
		name, _ := strconv.Unquote(m[1])
		found = d.Keywords("format", name)
	} else if m := setWarning.FindStringSubmatch(w.Message); m != nil {
		found = slices.DeleteFunc(d.Keywords("x-kubernetes-list-type", "set"), func(pointer string) bool {
			return !d.IsText(quickfix.Parent(pointer)+"/items/type", m[1])
		})
	}
	if len(found) == 0 {
		return
	}
	w.Range = d.rangeOf(found[0])
	if len(found) == 1 {
		w.Fixes = d.fixes(d.Remove(found[0], found[0][strings.LastIndexByte(found[0], '/')+1:]))
	}
}

// number returns the value of digits, or the largest int if the value is larger.
func number(digits string) int {
	n, _ := strconv.Atoi(digits) // returns the largest int with ErrRange
	return n
}

// lineRange returns the range of the text in a line, which counts from 1, or nil.
func (d *document) lineRange(line int) *Range {
	if line < 1 || line > len(d.lines) {
		return nil
	}
	start := d.lines[line-1]
	end := d.LineEnd(start)
	return d.span(start+len(d.Text[start:end])-len(strings.TrimLeft(d.Text[start:end], " \t")), end)
}
