package page

import (
	"fmt"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// fixBudget bounds the bytes that are parsed to verify the fixes of a document.
const fixBudget = 2 << 20

// manifestText is a text with the manifest that is evaluated: its first one.
type manifestText struct {
	*diagnosis.Document // nil if the text has no manifest
	*positions
	name string
	file *workspace.File
}

func newDocument(name, text string) *manifestText {
	content := []byte(text)
	d := &manifestText{name: name, positions: newPositions(text)}
	d.file = workspace.Parse(workspace.Source{Name: name}, content, 0)
	if len(d.file.Manifests) > 0 {
		d.Document = diagnosis.New(d.file.Manifests[0], fixBudget)
	}
	return d
}

// isEmpty reports whether the text has no manifest: it has only white space, comments, markers and null documents.
func (d *manifestText) isEmpty() bool { return len(d.file.Manifests) == 0 }

// failure returns why the text, or a part of it, is not evaluated. evaluated reports whether its first manifest is.
func (d *manifestText) failure() (failed *Error, evaluated bool) {
	for i, m := range d.file.Manifests {
		err := m.Err
		switch {
		case err == nil && i == 0:
			continue
		case err == nil:
			at := m.Start()
			err = &engine.Error{Reason: engine.ReasonInvalidArgument, Position: &at, Message: fmt.Sprintf(
				"the text has %d documents, and the playground evaluates only the first: "+
					"remove the others, or use the command crdeval", len(d.file.Manifests))}
		}
		of := *d
		of.Document = diagnosis.New(m, 0)
		return of.failed(err, nil), i > 0
	}
	return nil, true
}

// span returns the Range of a part of the manifest's document.
func (d *manifestText) span(start, end int) *Range {
	return d.positions.span(d.Begin+start, d.Begin+end)
}

// rangeOf returns the range of the value at a pointer, or nil.
func (d *manifestText) rangeOf(pointer string) *Range {
	return d.rangeAs(&diagnosis.Finding{Pointer: pointer})
}

// keyRange returns the range of the key at a pointer, or of the value of an item of a list. It is nil if there is no
// such value.
func (d *manifestText) keyRange(pointer string) *Range {
	return d.rangeAs(&diagnosis.Finding{Pointer: pointer, Type: engine.TypeUnknownField})
}

func (d *manifestText) rangeAs(f *diagnosis.Finding) *Range {
	if _, ok := d.Find(f.Pointer); !ok {
		return nil
	}
	return d.span(d.RangeOf(f))
}

// rangeOfFinding returns the range of a finding, or nil if it has no place.
func (d *manifestText) rangeOfFinding(f *diagnosis.Finding) *Range {
	if d.Document == nil || f.Position == nil && f.Pointer == "" {
		return nil
	}
	return d.span(d.RangeOf(f))
}

// schemas returns the schema of the value at a pointer, or nil.
type schemas func(pointer string) *diagnosis.Schema

// fixes returns the fixes of a finding.
func (d *manifestText) fixes(f *diagnosis.Finding, of schemas) []Fix {
	if of == nil {
		of = func(string) *diagnosis.Schema { return nil }
	}
	out := []Fix{}
	if d.Document == nil {
		return out
	}
	for _, f := range d.Fixes(f, of) {
		fix := Fix{Title: f.Title}
		for _, e := range f.Edits {
			fix.Edits = append(fix.Edits,
				Edit{Document: d.name, Start: d.position(d.Begin + e.Start), End: d.position(d.Begin + e.End), Text: e.Text})
		}
		out = append(out, fix)
	}
	return out
}
