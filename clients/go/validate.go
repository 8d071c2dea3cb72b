package crdeval

import (
	"context"
	"fmt"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Result is the outcome for one object: exactly one of the two is set.
type Result struct {
	// Verdict says whether an API server would accept the object, and why not.
	Verdict *crdevalv1.Verdict
	// Err is a gRPC status: why crdeval could not evaluate the object. It never means that the object is valid.
	Err error
}

// Allowed reports whether the object was evaluated and would be accepted.
func (r Result) Allowed() bool { return r.Err == nil && r.Verdict.GetAllowed() }

// Validate says for each object, JSON or YAML, whether an API server would accept its creation. Results are aligned with
// the objects. More objects than the server takes in one call are sent in several, one after the other; when one of these fails, so does the whole.
func (c *Client) Validate(ctx context.Context, objects ...[]byte) ([]Result, error) {
	items := make([]*crdevalv1.Item, len(objects))
	for i, o := range objects {
		items[i] = &crdevalv1.Item{Object: Document(o)}
	}
	return c.ValidateItems(ctx, items, nil)
}

// ValidateItems is Validate for items that say more than their object: an endpoint's version, a namespace, a revision. Nil
// options are the server's defaults.
func (c *Client) ValidateItems(ctx context.Context, items []*crdevalv1.Item, o *crdevalv1.EvaluationOptions) ([]Result, error) {
	if token := c.atLeast(); token != "" && o.GetAtLeast() == "" {
		mine := &crdevalv1.EvaluationOptions{AtLeast: token}
		proto.Merge(mine, o)
		o = mine
	}
	limits, err := c.serverLimits(ctx)
	if err != nil {
		return nil, fmt.Errorf("crdeval: server info: %w", err)
	}
	results := make([]Result, 0, len(items))
	for len(items) > 0 {
		n := batch(items, limits)
		r, err := c.Evaluation().Validate(ctx, &crdevalv1.ValidateRequest{Catalog: c.catalog, Items: items[:n], Options: o})
		if err != nil {
			return nil, fmt.Errorf("crdeval: validate: %w", err)
		}
		if len(r.GetResults()) != n {
			return nil, fmt.Errorf("crdeval: validate: %d results for %d items", len(r.GetResults()), n)
		}
		for _, one := range r.GetResults() {
			if e := one.GetError(); e != nil {
				results = append(results, Result{Err: status.ErrorProto(e)})
				continue
			}
			results = append(results, Result{Verdict: one.GetVerdict()})
		}
		items = items[n:]
	}
	return results, nil
}

// batch is how many of the items go into the next call: at least one, no more than the server takes, and no more bytes than
// half a message, which leaves room for what is not items.
func batch(items []*crdevalv1.Item, limits *crdevalv1.Limits) int {
	n, bytes := 0, int64(0)
	for _, item := range items {
		bytes += int64(proto.Size(item))
		if n > 0 && (n >= int(limits.GetMaxBatchItems()) || bytes > limits.GetMaxMessageBytes()/2) {
			break
		}
		n++
	}
	return n
}
