package registry

import "context"

// RegisterAll registers several manifests in their order, with an answer for each at its index: one's failure is its own. It returns the token of
// the last write, or of now.
func (r *Registry) RegisterAll(ctx context.Context, catalog string, list []Submission) ([]Submitted, string, error) {
	out := make([]Submitted, len(list))
	for i, s := range list {
		out[i].Registration, out[i].Err = r.Register(ctx, catalog, s.Manifest, s.Precondition)
	}
	return out, r.tag.token(r.snapshot.Load().sequence), nil
}
