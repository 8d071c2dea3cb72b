package engine

import (
	"time"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// show makes a request show what Include asks for; what comes of it is in what is returned once the request was evaluated.
func (o *PresentationOptions) show(r *admission.Request) *shown {
	if !o.SelectableFields && !o.TableRow && !o.Scale {
		return nil
	}
	s := &shown{include: *o}
	if s.include.Now.IsZero() {
		s.include.Now = time.Now()
	}
	r.Show = s.of
	return s
}

// shown is how an object is presented.
type shown struct {
	include   PresentationOptions
	presented *Presentation
	notes     []string // why something cannot be shown
}

// of looks at the object as it is answered.
func (s *shown) of(v *admission.Version, t admission.Tree) {
	p := &Presentation{}
	s.presented = p
	if s.include.SelectableFields {
		fields, err := v.Selectable.Fields(t.Doc, t.Root)
		if err == nil {
			p.SelectableFields = selectableFields(fields)
		}
		s.note("the selectable fields", err)
	}
	if s.include.TableRow {
		row, err := v.Columns.AppendRow(nil, t.Doc, t.Root, s.include.Now, t.Stop)
		if err == nil {
			p.TableRow = row
		}
		s.note("the table row", err)
	}
	if scale := v.Scale.View(); s.include.Scale && scale != nil {
		text, err := scale.Get(t.Doc, t.Root)
		p.Scale = text
		s.note("the scale", err)
	}
}

func (s *shown) note(what string, err error) {
	if err != nil {
		s.notes = append(s.notes, admission.Notice+what+" cannot be shown: "+err.Error())
	}
}

// tell is what was shown, and the warnings with notes about what could not be.
func (s *shown) tell(warnings []string) (*Presentation, []string) {
	if s == nil || s.presented == nil {
		return nil, warnings
	}
	return s.presented, append(warnings[:len(warnings):len(warnings)], s.notes...)
}
