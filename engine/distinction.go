package engine

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/distinction"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/value"
)

func init() { distinction.Find = findDistinction }

// findDistinction implements distinction.Find.
func findDistinction(ctx context.Context, a, b any, o *distinction.Options) (*distinction.Found, int, error) {
	own := DistinguishOptions{
		Version: o.Version, Tries: o.Tries, Seed: o.Seed, Update: o.Update, Subresource: o.Subresource,
		FieldValidation: o.FieldValidation, Pointers: o.Pointers, witness: o.Witness, defaults: o.Defaults,
		ignored: o.Ignored, missing: o.Missing, anyReason: o.AnyReason,
	}
	own.without, _ = o.Without.(*Definition)
	own.also, _ = o.Also.(*Definition)
	if o.Counts != nil {
		own.counts = func(aim *search.Aim, r *reply) bool { return o.Counts(aim, r) }
	}
	d, tries, err := distinguish(ctx, a.(*Definition), b.(*Definition), own)
	if d == nil {
		return nil, tries, err
	}
	return &distinction.Found{
		Version: d.Version, Subresource: d.Subresource, Object: d.Object, OldObject: d.OldObject, Ignored: d.ignored,
		A: d.A, B: d.B, Alone: d.alone,
	}, tries, err
}

// Pointers implements distinction.Reply.
func (r *reply) Pointers() []string { return r.pointers }

// Path implements distinction.Reply.
func (r *reply) Path(i int) value.Path { return r.faults[i].Path }

// IsAt implements distinction.Reply.
func (r *reply) IsAt(pointer string) bool { return r.isAt(pointer) }

// HasUnknown implements distinction.Reply.
func (r *reply) HasUnknown() bool { return len(r.unknown) > 0 }

// HasUnknownAt implements distinction.Reply.
func (r *reply) HasUnknownAt(pointer string) bool { return r.hasUnknownAt(pointer) }
