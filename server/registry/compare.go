package registry

import (
	"context"

	"github.com/crdeval/crdeval/engine"
)

// Compared is the answer to a Comparison.
type Compared struct {
	Diff *engine.Diff
	// Base is the registered CRD at the revision that New was compared with; nil if the comparison brought its own.
	Base *CRD
	// Replayed has an entry for each of the objects, in their order; it is nil if the new CRD is refused.
	Replayed []engine.Replayed
}

// Compare says what would change if the new CRD of a comparison replaced the other one, and how the objects would fare. It stores nothing.
func (r *Registry) Compare(ctx context.Context, catalog string, c Comparison, atLeast string) (*Compared, error) {
	return nil, errNotYet
}
