package api

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// now is the time that ages are counted to: the one given, or the present.
func now(name string, given *timestamppb.Timestamp) (time.Time, error) {
	if given == nil {
		return time.Now(), nil
	}
	if err := given.CheckValid(); err != nil {
		return time.Time{}, invalid(name, "%s is %d seconds and %d nanoseconds after 1970, which is no time of the years 1 to 9999", name, given.GetSeconds(), given.GetNanos())
	}
	return given.AsTime(), nil
}

// presented spells what an object is beside itself; nil for nothing.
func presented(p *engine.Presentation) *crdevalv1.ObjectPresentation {
	if p == nil {
		return nil
	}
	return &crdevalv1.ObjectPresentation{SelectableFields: selectable(p.SelectableFields), TableRow: json(p.TableRow), Scale: json(p.Scale)}
}

// selectable spells fields that an object can be selected by.
func selectable(list []engine.SelectableField) []*crdevalv1.SelectableField {
	all := make([]*crdevalv1.SelectableField, len(list))
	made := make([]crdevalv1.SelectableField, len(list))
	for i := range list {
		made[i].Field, made[i].Value = valid(list[i].Field), valid(list[i].Value)
		all[i] = &made[i]
	}
	return all
}

// hint spells what was probably meant; nil where nobody knows.
func hint(h *engine.Hint) *crdevalv1.Hint {
	if h == nil {
		return nil
	}
	return &crdevalv1.Hint{Text: valid(h.Text), Pointer: valid(h.Pointer), Replacement: json(h.Replacement)}
}
