package api

import (
	"context"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Explain answers the documentation of a resource or of a field.
func (s *presentationService) Explain(ctx context.Context, r *crdevalv1.ExplainRequest) (*crdevalv1.ExplainResponse, error) {
	text, err := s.explain(ctx, r)
	if err == nil {
		err = s.fits("the explanation", len(text))
	}
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.ExplainResponse{Text: valid(text)}, nil
}

func (s *presentationService) explain(ctx context.Context, r *crdevalv1.ExplainRequest) (string, error) {
	switch err := needed(field{"catalog", r.GetCatalog()}, field{"path", r.GetPath()}); {
	case err != nil:
		return "", err
	case r.GetMaxDepth() < 0:
		return "", invalid("max_depth", "max_depth is %d: it is 1 or more, or 0 for all levels", r.GetMaxDepth())
	case r.GetMaxDepth() > 0 && !r.GetRecursive():
		return "", invalid("max_depth", "max_depth is for recursive explanations alone: set recursive")
	}
	view, err := s.registry.View(ctx, r.GetCatalog(), r.GetAtLeast())
	if err != nil {
		return "", err
	}
	o := engine.ExplainOptions{APIVersion: r.GetApiVersion(), Recursive: r.GetRecursive(), MaxDepth: int(r.GetMaxDepth())}
	return engine.Explain(ctx, r.GetPath(), o, view.Published()...)
}
