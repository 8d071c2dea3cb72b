package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/diagnosis"
)

// warnings returns the warnings of the CRD, with fixes.
func (c *compiled) warnings() []Warning {
	list := []Warning{}
	d := c.document
	found := diagnosis.OfReport(&engine.Report{Warnings: c.report.Warnings})
	for i := range found {
		one := Warning{Document: d.name, Message: found[i].Message, Fixes: d.fixes(d.Fixes(&found[i], nil))}
		if found[i].Position != nil || found[i].Pointer != "" {
			one.Range = d.span(d.RangeOf(&found[i]))
		}
		list = append(list, one)
	}
	return list
}

// warnings returns the warnings of the write. One about a ratcheted violation has the fixes that out has for it.
func (w *write) warnings(v *engine.Verdict, out *Object) []Warning {
	d, list := w.object, []Warning{}
	for i := range v.Warnings {
		from := &v.Warnings[i]
		one := Warning{Document: d.name, Message: from.Text, Fixes: []Fix{}}
		switch from.Type {
		case engine.TypeUnknownField:
			one.Range = d.keyRange(from.Pointer)
			one.Hint, one.Fixes = w.unknownField(&engine.FieldChange{Path: from.Field, Pointer: from.Pointer, Hint: from.Hint})
		case engine.TypeDuplicateField:
			one.Range = d.keyRange(from.Pointer)
		case engine.TypeRatcheted:
			one.Range = d.rangeOf(from.Pointer)
			ratcheted := slices.IndexFunc(out.Ratcheted, func(r Violation) bool { return from.Text == r.Field+": "+r.Message })
			if ratcheted >= 0 {
				one.Hint, one.Fixes = out.Ratcheted[ratcheted].Hint, out.Ratcheted[ratcheted].Fixes
			}
		case engine.TypeDeprecated:
			if one.Range = d.rangeOf(from.Pointer); w.input.Version == "" { // otherwise the request overrides it
				one.Fixes = d.fixes(d.Deprecated(w.definition.Group(), w.definition.Versions()))
			}
		default:
			if from.Position != nil {
				one.Range = cmp.Or(d.rangeOf(from.Pointer), d.lineRange(from.Position.Line))
			}
		}
		list = append(list, one)
	}
	return list
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
