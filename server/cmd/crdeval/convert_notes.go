package main

import (
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// conversionNote is a warning about a converted object.
type conversionNote struct {
	at   *engine.Position // nil: the file does not have the field
	text string
}

// notesOf returns what a conversion dropped, and why an API server would reject or change the result at its version.
func notesOf(m *workspace.Manifest, version string, t *transformed) (notes []conversionNote) {
	add := func(pointer, format string, args ...any) {
		note := conversionNote{text: fmt.Sprintf(format, args...)}
		if r, found := m.Range(pointer); found {
			at := m.Text().Position(r.Value.Begin)
			note.at = &at
		}
		notes = append(notes, note)
	}
	for _, f := range t.pruned {
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
	fmt.Fprintf(&b, "%s:%d: %s: converted with warnings:\n", r.File, r.Line(), r.Title())
	for _, n := range r.notes {
		at := ""
		if n.at != nil {
			at = fmt.Sprintf("%s:%d:%d: ", r.File, n.at.Line, n.at.Column)
		}
		fmt.Fprintf(&b, "  %swarning: %s\n", at, messageText(n.text))
	}
	return b.String()
}
