package crdeval

import (
	"context"
	"fmt"

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

// Update is a write to an existing object.
type Update struct {
	// Old is the stored object, at any version that the CRD lists. New is the new object. JSON or YAML.
	Old, New []byte
	// Status makes it a write to the subresource status, which only takes the status from New.
	Status bool
}

// Validate reports for each object, JSON or YAML, whether an API server would accept its creation. Result i belongs to
// object i. The objects are sent in as many calls as needed. If a call fails, Validate returns its error.
func (c *Client) Validate(ctx context.Context, objects ...[]byte) ([]Result, error) {
	return c.ValidateItems(ctx, itemsOf(objects), nil)
}

// ValidateUpdates is Validate for updates. It runs transition rules. Invalid values that an update does not change may
// stay (ratcheting); Verdict.Ratcheted lists their violations.
func (c *Client) ValidateUpdates(ctx context.Context, updates ...Update) ([]Result, error) {
	items := make([]*crdevalv1.EvaluationItem, len(updates))
	for i, u := range updates {
		items[i] = &crdevalv1.EvaluationItem{Object: Document(u.New), OldObject: Document(u.Old)}
		if u.Status {
			items[i].Subresource = "status"
		}
	}
	return c.ValidateItems(ctx, items, nil)
}

// ValidateItems is Validate for complete items: with the version of the endpoint, a namespace, a revision. Nil options
// mean the defaults of the server. With CompleteMetadata the objects may lack a namespace or a resourceVersion, as in
// files.
func (c *Client) ValidateItems(ctx context.Context, items []*crdevalv1.EvaluationItem, o *crdevalv1.EvaluationOptions) ([]Result, error) {
	call := func(items []*crdevalv1.EvaluationItem) ([]*crdevalv1.VerdictResult, error) {
		r, err := c.Evaluation().Validate(ctx, &crdevalv1.ValidateRequest{Catalog: c.catalog, Items: items, Options: o, AtLeast: c.atLeast(), Crds: c.overlay})
		return r.GetResults(), err
	}
	answers, err := inBatches(ctx, c, "validate", items, call)
	return results(answers), err
}

// results converts the results of a response. It returns nil for nil.
func results(answers []*crdevalv1.VerdictResult) []Result {
	if answers == nil {
		return nil
	}
	all := make([]Result, len(answers))
	for i, a := range answers {
		if e := a.GetError(); e != nil {
			all[i].Err = status.ErrorProto(e)
		} else {
			all[i].Verdict = a.GetVerdict()
		}
	}
	return all
}

// itemsOf returns an item for each object.
func itemsOf(objects [][]byte) []*crdevalv1.EvaluationItem {
	items := make([]*crdevalv1.EvaluationItem, len(objects))
	for i, o := range objects {
		items[i] = &crdevalv1.EvaluationItem{Object: Document(o)}
	}
	return items
}

// inBatches sends items in as many calls as needed, one after the other, and returns all results.
func inBatches[R any](ctx context.Context, c *Client, name string, items []*crdevalv1.EvaluationItem, call func([]*crdevalv1.EvaluationItem) ([]R, error)) ([]R, error) {
	limits, err := c.serverLimits(ctx)
	if err != nil {
		return nil, fmt.Errorf("crdeval: server info: %w", err)
	}
	results := make([]R, 0, len(items))
	for len(items) > 0 {
		n := batch(items, limits)
		some, err := call(items[:n])
		if err != nil {
			return nil, fmt.Errorf("crdeval: %s: %w", name, err)
		}
		if len(some) != n {
			return nil, fmt.Errorf("crdeval: %s: %d results for %d items", name, len(some), n)
		}
		results, items = append(results, some...), items[n:]
	}
	return results, nil
}
