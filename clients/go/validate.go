package crdeval

import (
	"context"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Result is the result for one object. Exactly one field is set.
type Result struct {
	// Verdict reports whether an API server would accept the object, and why not.
	Verdict *crdevalv1.Verdict
	// Err is a gRPC status if crdeval could not evaluate the object. An error never means that the object is valid.
	Err error
}

// Allowed reports whether the object was evaluated and would be accepted.
func (r Result) Allowed() bool { return r.Err == nil && r.Verdict.GetAllowed() }

// Validate reports for each object, JSON or YAML, whether an API server would accept its creation. Result i belongs to
// object i. The objects are sent in as many calls as needed. If a call fails, Validate returns its error
// and the results of the earlier calls.
func (c *Client) Validate(ctx context.Context, objects ...[]byte) ([]Result, error) {
	return c.ValidateItems(ctx, mapped(objects, Create), nil)
}

// ValidateItems is Validate for writes, with options. Updates run transition rules. Invalid values that an update does not
// change may stay (ratcheting); Verdict.Ratcheted lists their violations. Nil options mean the defaults of the server.
// With CompleteMetadata the objects may lack a namespace or a resourceVersion, as in files.
func (c *Client) ValidateItems(
	ctx context.Context, items []*crdevalv1.WriteItem, o *crdevalv1.EvaluationOptions,
) ([]Result, error) {
	request := &crdevalv1.ValidateRequest{Context: contextOf(o)}
	return inBatches(ctx, c, "validate", c.Evaluation().Validate, request, "items", items, resultOf)
}

func resultOf(r *crdevalv1.VerdictResult) Result {
	return Result{r.GetVerdict(), status.ErrorProto(r.GetError())}
}
