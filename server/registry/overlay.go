package registry

import (
	"context"

	"github.com/crdeval/crdeval/engine"
)

// ViewWith is View with up to MaxOverlay CRDs on top, for this view alone: each is judged as a registration of it would be, and found as if it had been
// registered. Nothing is stored. One that is refused is an *Error CRD_REFUSED with its report.
func (r *Registry) ViewWith(ctx context.Context, catalog, atLeast string, overlay []engine.Document) (View, error) {
	if len(overlay) == 0 {
		return r.View(ctx, catalog, atLeast)
	}
	return nil, errNotYet
}
