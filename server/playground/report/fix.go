package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// fixBudget bounds the bytes that are parsed to verify the fixes of a document.
const fixBudget = 2 << 20

// maxEnumFixes bounds the values of an enum that are offered.
const maxEnumFixes = 10

// fixes returns the corrections of a violation of the object.
func (w *write) fixes(v *engine.Violation) []Fix {
	d, list := w.object, []Fix{}
	if v.Type == "FieldValueRequired" && v.Rule == nil {
		return append(list, w.insertRequired(v)...)
	}
	p, ok := d.find(v.Pointer)
	if !ok || v.Pointer == "" || v.Step != engine.StepSchema {
		return list
	}
	offered := map[string]bool{}
	offer := func(text json.RawMessage) {
		if !offered[string(text)] {
			offered[string(text)] = true
			c := change{set: v.Pointer, value: text}
			list = append(list, d.fix("Change to "+string(text), c, &w.budget, d.replace(p, text)...)...)
		}
	}
	if v.Hint != nil && v.Hint.Replacement != nil {
		offer(v.Hint.Replacement)
	}
	s := w.schemaOf(v.Pointer)
	if s == nil {
		return list
	}
	switch {
	case v.Type == "FieldValueNotSupported":
		for i, one := range s.Enum {
			if i < maxEnumFixes {
				offer(one)
			}
		}
	case strings.HasSuffix(v.SchemaPointer, "/minimum") && s.Minimum != nil && !s.ExclusiveMinimum:
		offer(json.RawMessage(*s.Minimum))
	case strings.HasSuffix(v.SchemaPointer, "/maximum") && s.Maximum != nil && !s.ExclusiveMaximum:
		offer(json.RawMessage(*s.Maximum))
	}
	return list
}

// insertRequired returns a fix that adds a missing field with a fitting value.
func (w *write) insertRequired(v *engine.Violation) []Fix {
	d := w.object
	parent, ok := d.find(parentOf(v.Pointer))
	s := w.schemaOf(v.Pointer)
	if !ok || s == nil {
		return nil
	}
	sample, _ := json.Marshal(s.sample(0)) // maps, lists and scalars always encode
	name := unescape.Replace(v.Pointer[strings.LastIndexByte(v.Pointer, '/')+1:])
	to := change{set: v.Pointer, value: sample}
	return d.fix("Add "+name, to, &w.budget, d.insert(parent, name, sample)...)
}

// unknownField returns the hint and the fixes of a field that the schema does not declare.
func (w *write) unknownField(c *engine.FieldChange) (hint string, list []Fix) {
	d, list := w.object, []Fix{}
	p, ok := d.find(c.Pointer)
	if c.Hint != nil {
		hint = c.Hint.Text
	}
	if !ok || p.key < 0 {
		return hint, list
	}
	if c.Hint != nil && c.Hint.Pointer != "" {
		to := c.Hint.Pointer
		name := unescape.Replace(to[strings.LastIndexByte(to, '/')+1:])
		sent := json.RawMessage(d.tree.AppendJSON(nil, p.node))
		both := change{remove: c.Pointer, set: to, value: sent}
		if parentOf(to) == parentOf(c.Pointer) {
			list = append(list, d.fix(fmt.Sprintf("Rename to %s", name), both, &w.budget, d.rename(p, name)...)...)
		} else if object, ok := d.find(parentOf(to)); ok {
			edits := append(d.remove(p), d.insert(object, name, sent)...)
			list = append(list, d.fix(fmt.Sprintf("Move to %s", dotted(to)), both, &w.budget, edits...)...)
		}
	}
	return hint, append(list, d.fix("Remove "+c.Path, change{remove: c.Pointer}, &w.budget, d.remove(p)...)...)
}
