package engine

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/hint"
	"github.com/crdeval/crdeval/internal/value"
)

// MaxHints is how many hints one answer has at most: the first things that are wrong get them.
const MaxHints = hint.MaxHints

// hints adds to what is wrong with an object what was probably meant. found and pruned are what the outcome has become, entry by entry.
func (d *Definition) hints(ctx context.Context, r *admission.Request, out *admission.Outcome, found []Violation, pruned []FieldChange) {
	if len(found) == 0 && len(pruned) == 0 || out.Version == nil || out.Version.Plan == nil {
		return
	}
	text := r.Body
	if r.Patch != 0 || r.Scale {
		text = nil // what is judged is an object that stands in no document
	}
	removed := make([]hint.Removed, 0, min(len(pruned), hint.MaxAsked))
	for i := range out.Pruned[:cap(removed)] {
		one := hint.Removed{Path: out.Pruned[i].Path}
		if at := pruned[i].Position; at != nil {
			one.Position = *at
		}
		removed = append(removed, one)
	}
	finder := hint.New(out.Version.Plan, text, r.YAML, d.limits, removed, ctx.Done())
	for i := range found {
		at := value.Position{}
		if found[i].Position != nil {
			at = *found[i].Position
		}
		found[i].Hint = hintOf(finder.Violation(&out.Violations[i], at))
	}
	for i := range removed {
		pruned[i].Hint = hintOf(finder.Removed(&removed[i]))
	}
	finder.Close() // not by defer: after a panic its memory must not go back into the pool
}

func hintOf(h *hint.Hint) *Hint {
	if h == nil {
		return nil
	}
	return &Hint{Text: h.Text, Pointer: h.Pointer, Replacement: h.Replacement}
}
