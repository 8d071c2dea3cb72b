package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/quickfix"
)

// warnings returns the warnings of the CRD, with fixes.
func (c *compiled) warnings() []Warning {
	list := []Warning{}
	for _, text := range engine.TextsOf(c.report.Warnings) {
		list = append(list, c.document.warning(text, c.document.Warning(text)))
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
		case strings.HasPrefix(text, `crdeval: an object with a list "items"`):
			one.Range = d.keyRange("/items")
		default:
			of := d.Warning(text)
			// A Scale has a version of its own.
			if w.version != nil && w.input.Subresource != "scale" && of.Pointer == "" {
				of = d.Deprecated(text, w.definition.Group(), w.version.Name, w.definition.Versions())
			}
			if w.input.Version != "" && of.Pointer == "/apiVersion" { // the request overrides it
				of.Fixes = nil
			}
			one = d.warning(text, of)
		}
		list = append(list, one)
	}
	return list
}

var lineWarning = regexp.MustCompile(`^line (\d+): `)

// warning returns a warning with the range of its place, or of the line that its text names.
func (d *document) warning(text string, of quickfix.Warned) Warning {
	out := Warning{Document: d.name, Message: text, Fixes: d.fixes(of.Fixes)}
	m := lineWarning.FindStringSubmatch(text)
	switch {
	case m != nil:
		out.Range = d.lineRange(number(m[1]))
	case of.Pointer == "":
	case of.IsKey:
		out.Range = d.keyRange(of.Pointer)
	default:
		out.Range = d.rangeOf(of.Pointer)
	}
	return out
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
