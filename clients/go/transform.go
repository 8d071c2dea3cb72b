package crdeval

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Transformed is the result of Prune, Default, Read, ReadStream or Convert for one object. Exactly one field is set.
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
// The objects are sent in as many calls as needed. If a call fails, Prune returns its error and the results of the
// earlier calls.
func (c *Client) Prune(ctx context.Context, objects ...[]byte) ([]Transformed, error) {
	return transform(ctx, c, "prune", c.Evaluation().Prune, &crdevalv1.PruneRequest{}, objects)
}

// Default adds the defaults to each object. Otherwise it works as Prune does.
func (c *Client) Default(ctx context.Context, objects ...[]byte) ([]Transformed, error) {
	return transform(ctx, c, "default", c.Evaluation().Default, &crdevalv1.DefaultRequest{}, objects)
}

// Read reads objects as an API server reads them from storage, at the given version of the CRD. If version is empty, it
// reads each object at its own version.
func (c *Client) Read(ctx context.Context, version string, objects ...[]byte) ([]Transformed, error) {
	return c.ReadItems(ctx, itemsOf(objects), ReadOptions{TargetVersion: version})
}

// ReadItems is Read for complete items, with options.
func (c *Client) ReadItems(
	ctx context.Context, items []*crdevalv1.ObjectItem, o ReadOptions,
) ([]Transformed, error) {
	request := &crdevalv1.ReadRequest{Context: contextOf(o.Evaluation), TargetVersion: o.TargetVersion, Include: o.Include}
	return inBatches(ctx, c, "read", c.Evaluation().Read, request, "items", items, transformedOf)
}

// Convert converts each object to a version of its CRD. version is required.
func (c *Client) Convert(ctx context.Context, version string, objects ...[]byte) ([]Transformed, error) {
	if version == "" {
		return nil, fmt.Errorf("crdeval: convert: the version to convert to is missing")
	}
	return transform(ctx, c, "convert", c.Evaluation().Convert, &crdevalv1.ConvertRequest{TargetVersion: version}, objects)
}

func transform[Q proto.Message, P response[*crdevalv1.TransformResult]](
	ctx context.Context, c *Client, about string, m method[Q, P], request Q, objects [][]byte,
) ([]Transformed, error) {
	return inBatches(ctx, c, about, m, request, "items", itemsOf(objects), transformedOf)
}

func transformedOf(r *crdevalv1.TransformResult) Transformed {
	return Transformed{r.GetTransformed(), status.ErrorProto(r.GetError())}
}
