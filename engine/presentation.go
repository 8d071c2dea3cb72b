package engine

import (
	"time"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// presenter makes the Presentation of an object. It is nil if nothing is asked for.
type presenter struct {
	options      PresentationOptions
	presentation *Presentation
	notes        []Warning // what could not be presented
}

// newPresenter makes a request call the presenter with the resulting object.
func newPresenter(r *admission.Request, o PresentationOptions) *presenter {
	if !o.SelectableFields && !o.TableRow && !o.Scale {
		return nil
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	p := &presenter{options: o}
	r.Show = p.present
	return p
}

func (p *presenter) present(v *admission.Version, t admission.Tree) {
	if v == nil {
		return // an object of another kind
	}
	out := &Presentation{}
	p.presentation = out
	if p.options.SelectableFields {
		fields, err := v.Selectable.Fields(t.Doc, t.Root)
		if err == nil {
			out.SelectableFields = fields
		}
		p.note("the selectable fields", err)
	}
	if p.options.TableRow {
		row, err := v.Columns.AppendRow(nil, t.Doc, t.Root, p.options.Now, t.Stop)
		if err == nil {
			out.TableRow = row
		}
		p.note("the table row", err)
	}
	if p.options.Scale && v.Scale != nil {
		text, err := v.Scale.Get(t.Doc, t.Root)
		out.Scale = text
		p.note("the scale", err)
	}
}

func (p *presenter) note(what string, err error) {
	if err != nil {
		p.notes = append(p.notes, Warning{Type: TypeNotice, Text: admission.Notice + what + " cannot be shown: " + err.Error()})
	}
}

// result returns the presentation, and the warnings with notes about what could not be presented.
func (p *presenter) result(warnings []Warning) (*Presentation, []Warning) {
	if p == nil || p.presentation == nil {
		return nil, warnings
	}
	return p.presentation, append(warnings[:len(warnings):len(warnings)], p.notes...)
}
