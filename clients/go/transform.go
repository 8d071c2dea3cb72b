package crdeval

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Transformed is the result of Prune, Default, Read or Convert for one object. Exactly one field is set.
type Transformed struct {
	// TransformedObject has the object, or the rejection if an API server cannot decode or convert it.
	*crdevalv1.TransformedObject
	// Err is a gRPC status if crdeval could not evaluate the object.
	Err error
}

// Result returns the object as JSON. The error is Err, or the text of the rejection.
func (t Transformed) Result() ([]byte, error) {
	switch {
	case t.Err != nil:
		return nil, t.Err
	case t.GetRejection() != nil:
		return nil, errors.New(t.GetRejection().GetMessage())
	}
	return t.GetObject().GetJson(), nil
}

// Prune removes the fields that the schema does not know from each object, JSON or YAML. Result i belongs to object i.
// The objects are sent in as many calls as needed.
func (c *Client) Prune(ctx context.Context, objects ...[]byte) ([]Transformed, error) {
	return c.transform(ctx, "prune", objects, func(items []*crdevalv1.EvaluationItem) ([]*crdevalv1.TransformResult, error) {
		r, err := c.Evaluation().Prune(ctx, &crdevalv1.PruneRequest{Catalog: c.catalog, Items: items, AtLeast: c.atLeast(), Crds: c.overlay})
		return r.GetResults(), err
	})
}

// Default adds the defaults to each object. Otherwise it works as Prune does.
func (c *Client) Default(ctx context.Context, objects ...[]byte) ([]Transformed, error) {
	return c.transform(ctx, "default", objects, func(items []*crdevalv1.EvaluationItem) ([]*crdevalv1.TransformResult, error) {
		r, err := c.Evaluation().Default(ctx, &crdevalv1.DefaultRequest{Catalog: c.catalog, Items: items, AtLeast: c.atLeast(), Crds: c.overlay})
		return r.GetResults(), err
	})
}

// Read reads objects as an API server reads them from storage, at the given version of the CRD. If version is empty, it
// reads each object at its own version.
func (c *Client) Read(ctx context.Context, version string, objects ...[]byte) ([]Transformed, error) {
	return c.transform(ctx, "read", objects, func(items []*crdevalv1.EvaluationItem) ([]*crdevalv1.TransformResult, error) {
		r, err := c.Evaluation().Read(ctx, &crdevalv1.ReadRequest{Catalog: c.catalog, Items: items, AtLeast: c.atLeast(), Crds: c.overlay, TargetVersion: version})
		return r.GetResults(), err
	})
}

// Convert converts each object to a version of its CRD. version is required.
func (c *Client) Convert(ctx context.Context, version string, objects ...[]byte) ([]Transformed, error) {
	if version == "" {
		return nil, fmt.Errorf("crdeval: convert: say which version to convert to")
	}
	return c.transform(ctx, "convert", objects, func(items []*crdevalv1.EvaluationItem) ([]*crdevalv1.TransformResult, error) {
		r, err := c.Evaluation().Convert(ctx, &crdevalv1.ConvertRequest{Catalog: c.catalog, Items: items, AtLeast: c.atLeast(), Crds: c.overlay, TargetVersion: version})
		return r.GetResults(), err
	})
}

func (c *Client) transform(ctx context.Context, name string, objects [][]byte, call func([]*crdevalv1.EvaluationItem) ([]*crdevalv1.TransformResult, error)) ([]Transformed, error) {
	answers, err := inBatches(ctx, c, name, itemsOf(objects), call)
	if err != nil {
		return nil, err
	}
	results := make([]Transformed, len(answers))
	for i, a := range answers {
		if e := a.GetError(); e != nil {
			results[i].Err = status.ErrorProto(e)
		} else {
			results[i].TransformedObject = a.GetTransformed()
		}
	}
	return results, nil
}
