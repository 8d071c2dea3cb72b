package crdeval

import (
	"context"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Subject selects a CRD and one of its versions. The zero value selects the CRD and the version of the first object.
type Subject struct {
	// CRD is the name of the CRD: crontabs.stable.example.com. Required without objects. Default: the CRD that serves
	// the group and kind of the first object.
	CRD string
	// Version is the version: v1. Default: the version of the first object. Without objects, the preferred version.
	Version string
	// Revision is a revision of the CRD that the catalog keeps. Default: the current revision.
	Revision string
}

// Table returns stored objects, JSON or YAML, as a meta.k8s.io/v1 Table in JSON, as `kubectl get` requests it. All
// objects go in one call. The error is a *Rejected if an API server would reject the list.
func (c *Client) Table(ctx context.Context, s Subject, objects ...[]byte) ([]byte, error) {
	return c.TableWithOptions(ctx, s, TableOptions{}, objects...)
}

// TableOptions are the options of TableWithOptions. The zero value is the default of an API server.
type TableOptions struct {
	// Now is the time from which ages are computed. The zero value is the time when the call arrives.
	Now time.Time
	// RowObject selects how much of its object each row has. Default: the metadata.
	RowObject crdevalv1.RowObject
	// WithoutColumns omits columnDefinitions, as an API server does from the second event of a watch on.
	WithoutColumns bool
	// Decoded says that objects of the table's version were read from the storage already, so they need no defaults.
	Decoded bool
	// ResourceVersion, ContinueToken and RemainingItemCount are those of the list. They become metadata of the table.
	ResourceVersion, ContinueToken string
	RemainingItemCount             int64
	// Subresource is "", or "scale" for a table of the Scale of exactly one object.
	Subresource string
}

// TableWithOptions is Table with options. Without objects, the table has columns only, and s.CRD is required.
func (c *Client) TableWithOptions(ctx context.Context, s Subject, o TableOptions, objects ...[]byte) ([]byte, error) {
	request := &crdevalv1.TableRequest{
		RowObject: o.RowObject, WithoutColumns: o.WithoutColumns, Decoded: o.Decoded,
		ResourceVersion: o.ResourceVersion, ContinueToken: o.ContinueToken, RemainingItemCount: o.RemainingItemCount,
		Subresource: o.Subresource,
	}
	if !o.Now.IsZero() {
		request.Now = timestamppb.New(o.Now)
	}
	r, err := c.table(ctx, s, request, objects)
	return r.GetTable().GetJson(), err
}

// TableText returns objects as `kubectl get` prints them. Nil options mean a plain `kubectl get`.
func (c *Client) TableText(ctx context.Context, s Subject, o *crdevalv1.TableText, objects ...[]byte) (string, error) {
	if o == nil {
		o = &crdevalv1.TableText{}
	}
	r, err := c.table(ctx, s, &crdevalv1.TableRequest{Text: o}, objects)
	return r.GetText(), err
}

func (c *Client) table(
	ctx context.Context, s Subject, request *crdevalv1.TableRequest, objects [][]byte,
) (*crdevalv1.TableResponse, error) {
	request.Crd, request.Version, request.Revision, request.Objects = s.CRD, s.Version, s.Revision, documents(objects)
	return call(ctx, c, "table", c.Presentation().Table, request)
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
	request := &crdevalv1.SelectFieldsRequest{Crd: s.CRD, Version: s.Version, Revision: s.Revision, Selector: selector}
	return inBatches(ctx, c, "select fields", c.Presentation().SelectFields, request, "objects", documents(objects),
		func(r *crdevalv1.SelectFieldsResult) Selected {
			return Selected{r.GetSelected().GetFields(), r.GetSelected().GetMatches(), status.ErrorProto(r.GetError())}
		})
}

// GetScale returns the subresource scale of an object as an autoscaling/v1 Scale in JSON. The error is a *Rejected if
// an API server would not return a Scale.
func (c *Client) GetScale(ctx context.Context, s Subject, object []byte) ([]byte, error) {
	r, err := call(ctx, c, "get scale", c.Presentation().GetScale, &crdevalv1.GetScaleRequest{
		Crd: s.CRD, Version: s.Version, Revision: s.Revision, Object: Document(object),
	})
	return r.GetScale().GetJson(), err
}

// SetScale returns an object with the replicas of a Scale, as JSON. It validates nothing. For the whole write, use
// Admit with the subresource scale.
func (c *Client) SetScale(ctx context.Context, s Subject, object, scale []byte) ([]byte, error) {
	r, err := call(ctx, c, "set scale", c.Presentation().SetScale, &crdevalv1.SetScaleRequest{
		Crd: s.CRD, Version: s.Version, Revision: s.Revision, Object: Document(object), Scale: Document(scale),
	})
	return r.GetObject().GetJson(), err
}

// FieldManagement returns what a server needs to know of a CRD for server-side apply, for all served versions.
func (c *Client) FieldManagement(ctx context.Context, crd string) (*crdevalv1.GetFieldManagementResponse, error) {
	request := &crdevalv1.GetFieldManagementRequest{Crd: crd}
	return call(ctx, c, "field management", c.APIServer().GetFieldManagement, request)
}

// Explain returns the documentation of a resource or of a field, "crontabs.spec.replicas", as `kubectl explain` prints
// it.
func (c *Client) Explain(ctx context.Context, path string) (string, error) {
	r, err := call(ctx, c, "explain", c.Presentation().Explain, &crdevalv1.ExplainRequest{Path: path})
	return r.GetText(), err
}
