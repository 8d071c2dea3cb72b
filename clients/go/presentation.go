package crdeval

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Rejected is the error for a request that an API server would reject. It has the code, the reason and the text of the
// Status.
type Rejected struct {
	*crdevalv1.Rejection
	// Warnings are details that the Status lacks: why a Scale cannot be decoded.
	Warnings []string
}

// Error returns the text of the Status, followed by the warnings.
func (r *Rejected) Error() string {
	return strings.Join(append([]string{r.GetMessage()}, r.Warnings...), ": ")
}

func rejectedBy(r *crdevalv1.Rejection, warnings ...string) error {
	if r == nil {
		return nil
	}
	return &Rejected{r, warnings}
}

// Subject selects a CRD and one of its versions. The zero value selects the CRD and the version of the first object.
type Subject struct {
	// CRD is the name of the CRD: crontabs.stable.example.com. Required without objects. Default: the CRD that serves
	// the group and kind of the first object.
	CRD string
	// Version is the version: v1. Default: the version of the first object. Without objects, the preferred version.
	Version string
}

// Table returns stored objects, JSON or YAML, as a meta.k8s.io/v1 Table in JSON, as `kubectl get` requests it. All
// objects go in one call. The error is a *Rejected if an API server would reject the list.
func (c *Client) Table(ctx context.Context, s Subject, objects ...[]byte) ([]byte, error) {
	r, err := c.table(ctx, s, nil, objects)
	return r.GetTable().GetJson(), err
}

// TableText returns objects as `kubectl get` prints them. Nil options mean a plain `kubectl get`.
func (c *Client) TableText(ctx context.Context, s Subject, o *crdevalv1.TableText, objects ...[]byte) (string, error) {
	if o == nil {
		o = &crdevalv1.TableText{}
	}
	r, err := c.table(ctx, s, o, objects)
	return r.GetText(), err
}

func (c *Client) table(ctx context.Context, s Subject, text *crdevalv1.TableText, objects [][]byte) (*crdevalv1.TableResponse, error) {
	r, err := c.Presentation().Table(ctx, &crdevalv1.TableRequest{
		Catalog: c.catalog, Crd: s.CRD, Version: s.Version, Objects: documents(objects), Text: text, AtLeast: c.atLeast(), Crds: c.overlay,
	})
	if err != nil {
		return nil, fmt.Errorf("crdeval: table: %w", err)
	}
	return r, rejectedBy(r.GetRejection())
}

// Selected is the result of SelectFields for one object.
type Selected struct {
	// Fields are the fields that a selector may use, with their values.
	Fields []*crdevalv1.SelectableField
	// Matches reports whether the selector matches the object.
	Matches bool
	// Err is a gRPC status if the object could not be evaluated, otherwise nil.
	Err error
}

// SelectFields returns the selectable fields of each object, and whether a field selector such as
// "spec.color=blue,metadata.name!=a" matches it. An empty selector matches every object.
//
// Result i belongs to object i. The objects are sent in as many calls as needed. The error is a *Rejected if an API
// server would reject the selector.
func (c *Client) SelectFields(ctx context.Context, s Subject, selector string, objects ...[]byte) ([]Selected, error) {
	limits, err := c.serverLimits(ctx)
	if err != nil {
		return nil, fmt.Errorf("crdeval: server info: %w", err)
	}
	all := make([]Selected, 0, len(objects))
	for rest := documents(objects); ; {
		n := 0
		if len(rest) > 0 {
			n = fitting(rest, int(limits.GetMaxBatchItems()), limits.GetMaxMessageBytes())
		}
		r, err := c.Presentation().SelectFields(ctx, &crdevalv1.SelectFieldsRequest{
			Catalog: c.catalog, Crd: s.CRD, Version: s.Version, Objects: rest[:n], Selector: selector, AtLeast: c.atLeast(), Crds: c.overlay,
		})
		switch {
		case err != nil:
			return nil, fmt.Errorf("crdeval: select fields: %w", err)
		case r.GetRejection() != nil:
			return nil, rejectedBy(r.GetRejection())
		case len(r.GetResults()) != n:
			return nil, fmt.Errorf("crdeval: select fields: %d results for %d objects", len(r.GetResults()), n)
		}
		for _, result := range r.GetResults() {
			if e := result.GetError(); e != nil {
				all = append(all, Selected{Err: status.ErrorProto(e)})
			} else {
				all = append(all, Selected{Fields: result.GetSelected().GetFields(), Matches: result.GetSelected().GetMatches()})
			}
		}
		if rest = rest[n:]; len(rest) == 0 {
			return all, nil
		}
	}
}

// GetScale returns the subresource scale of an object as an autoscaling/v1 Scale in JSON. The error is a *Rejected if an
// API server would not return a Scale.
func (c *Client) GetScale(ctx context.Context, s Subject, object []byte) ([]byte, error) {
	r, err := c.Presentation().GetScale(ctx, &crdevalv1.GetScaleRequest{
		Catalog: c.catalog, Crd: s.CRD, Version: s.Version, Object: Document(object), AtLeast: c.atLeast(), Crds: c.overlay,
	})
	if err != nil {
		return nil, fmt.Errorf("crdeval: get scale: %w", err)
	}
	return r.GetScale().GetJson(), rejectedBy(r.GetRejection())
}

// SetScale returns an object with the replicas of a Scale, as JSON. It validates nothing. For the whole write, use
// Admit with the subresource scale.
func (c *Client) SetScale(ctx context.Context, s Subject, object, scale []byte) ([]byte, error) {
	r, err := c.Presentation().SetScale(ctx, &crdevalv1.SetScaleRequest{
		Catalog: c.catalog, Crd: s.CRD, Version: s.Version, Object: Document(object), Scale: Document(scale), AtLeast: c.atLeast(), Crds: c.overlay,
	})
	if err != nil {
		return nil, fmt.Errorf("crdeval: set scale: %w", err)
	}
	return r.GetObject().GetJson(), rejectedBy(r.GetRejection(), r.GetWarnings()...)
}

// OpenAPIV3 returns the OpenAPI v3 document of a group and version, as an API server publishes it. If both are empty,
// it returns the index of all documents.
func (c *Client) OpenAPIV3(ctx context.Context, group, version string) ([]byte, error) {
	return c.openAPI(ctx, &crdevalv1.GetOpenApiRequest{Spec: "v3", Group: group, Version: version})
}

// OpenAPIV2 returns the OpenAPI v2 document of the catalog, as an API server publishes it.
func (c *Client) OpenAPIV2(ctx context.Context) ([]byte, error) {
	return c.openAPI(ctx, &crdevalv1.GetOpenApiRequest{Spec: "v2"})
}

func (c *Client) openAPI(ctx context.Context, r *crdevalv1.GetOpenApiRequest) ([]byte, error) {
	r.Catalog, r.AtLeast = c.catalog, c.atLeast()
	answer, err := c.Presentation().GetOpenApi(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("crdeval: OpenAPI: %w", err)
	}
	return answer.GetDocument().GetJson(), nil
}

// Discover returns all groups and resources of the catalog as an APIGroupDiscoveryList of apidiscovery.k8s.io/v2 in
// JSON.
func (c *Client) Discover(ctx context.Context) ([]byte, error) {
	r, err := c.Presentation().Discover(ctx, &crdevalv1.DiscoverRequest{Catalog: c.catalog, Aggregated: true, AtLeast: c.atLeast()})
	if err != nil {
		return nil, fmt.Errorf("crdeval: discover: %w", err)
	}
	return r.GetDocument().GetJson(), nil
}

// FieldManagement returns what a server needs to know of a CRD for server-side apply, for all served versions.
func (c *Client) FieldManagement(ctx context.Context, crd string) (*crdevalv1.GetFieldManagementResponse, error) {
	r, err := c.Presentation().GetFieldManagement(ctx, &crdevalv1.GetFieldManagementRequest{Catalog: c.catalog, Crd: crd, AtLeast: c.atLeast()})
	if err != nil {
		return nil, fmt.Errorf("crdeval: field management: %w", err)
	}
	return r, nil
}

// Explain returns the documentation of a resource or of a field, "crontabs.spec.replicas", as `kubectl explain` prints
// it.
func (c *Client) Explain(ctx context.Context, path string) (string, error) {
	r, err := c.Presentation().Explain(ctx, &crdevalv1.ExplainRequest{Catalog: c.catalog, Path: path, AtLeast: c.atLeast()})
	if err != nil {
		return "", fmt.Errorf("crdeval: explain: %w", err)
	}
	return r.GetText(), nil
}

// documents wraps the bytes of each object.
func documents(objects [][]byte) []*crdevalv1.Document {
	all := make([]*crdevalv1.Document, len(objects))
	for i, o := range objects {
		all[i] = Document(o)
	}
	return all
}
