package main

import (
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// conversionNote is a warning about a converted object, or a reason why it was not converted.
type conversionNote struct {
	at   *engine.Position // nil: the file does not have the field
	text string
}

// noteAt returns a note about a field.
func noteAt(m *workspace.Manifest, pointer, format string, args ...any) conversionNote {
	note := conversionNote{text: fmt.Sprintf(format, args...)}
	if r, found := m.Range(pointer); found {
		at := m.Text().Position(r.Value.Begin)
		note.at = &at
	}
	return note
}

// in returns the position of the note as the beginning of a line, or "".
func (n *conversionNote) in(m *workspace.Manifest) string {
	if n.at == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: ", m.File, n.at.Line, n.at.Column)
}

// notesOf returns what a conversion dropped, and why an API server would reject or change the result at its version.
func notesOf(m *workspace.Manifest, version string, t *transformed) (notes []conversionNote) {
	add := func(pointer, format string, args ...any) { notes = append(notes, noteAt(m, pointer, format, args...)) }
	for _, f := range t.pruned {
		if string(f.Value) == "null" {
			add(f.Pointer, "%s: the null is dropped: version %s does not have the field, or it is not nullable", f.Path, version)
			continue
		}
		add(f.Pointer, "%s: the field is dropped: version %s does not have it", f.Path, version)
	}
	if t.verdict == nil {
		return notes
	}
	for _, v := range t.verdict.Violations {
		add(v.Pointer, "not valid at version %s: %s", version, v.Error())
	}
	for _, f := range t.verdict.Defaulted {
		add(f.Pointer, "%s: version %s has the default %s, which the object gets when it is written", f.Path, version, f.Value)
	}
	return notes
}

// notesText returns the warnings about an object as text, "" without one.
func notesText(r *conversion) string {
	if len(r.notes) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: %s: converted with warnings:\n", r.File, r.Line(), titleOf(r.Manifest))
	for _, n := range r.notes {
		fmt.Fprintf(&b, "  %swarning: %s\n", n.in(r.Manifest), messageText(n.text))
	}
	return b.String()
}

// fieldTexts returns the texts of reasons, nil if one is not about a field.
func fieldTexts(reasons []engine.Violation) (texts []string) {
	for i := range reasons {
		if reasons[i].Field == "" {
			return nil
		}
		texts = append(texts, reasons[i].Error())
	}
	return texts
}

// reasonsText returns the fields for which an object was not converted as text, "" if the rejection is about none.
func reasonsText(r *conversion) string {
	var b strings.Builder
	for i, text := range fieldTexts(r.reasons) {
		n := noteAt(r.Manifest, r.reasons[i].Pointer, "%s", text)
		fmt.Fprintf(&b, "  %s%s\n", n.in(r.Manifest), messageText(n.text))
	}
	return b.String()
}
