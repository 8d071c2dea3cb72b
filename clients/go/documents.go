package crdeval

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Fetched is a document with its etag.
type Fetched struct {
	// JSON is the document. It is nil if the etag of the request is current.
	JSON []byte
	// ETag identifies the document, in double quotes as in the header ETag. It changes with the document.
	ETag string
}

// NotModified reports whether the etag of the request is current.
func (f Fetched) NotModified() bool { return f.JSON == nil && f.ETag != "" }

// OpenAPIOptions select a document of GetOpenAPI. The zero value selects the index of the v3 documents.
type OpenAPIOptions struct {
	// V2 selects the v2 document. Then Group and Version must be empty.
	V2 bool
	// Group and Version select the v3 document of a group and version.
	Group, Version string
	// CRD limits the document to one CRD. Default: all established CRDs.
	CRD string
	// Revision is a revision of CRD that the catalog keeps. Default: the current revision.
	Revision string
	// IfNoneMatch is the etag of the document that the caller has. Default: always return the document.
	IfNoneMatch string
}

// GetOpenAPI returns an OpenAPI document of the catalog, as an API server publishes it.
func (c *Client) GetOpenAPI(ctx context.Context, o OpenAPIOptions) (Fetched, error) {
	request := &crdevalv1.GetOpenApiRequest{
		Spec: "v3", Group: o.Group, Version: o.Version, Crd: o.CRD, Revision: o.Revision,
		IfNoneMatch: o.IfNoneMatch,
	}
	if o.V2 {
		request.Spec = "v2"
	}
	return fetched(call(ctx, c, "OpenAPI", c.Presentation().GetOpenApi, request))
}

// OpenAPIV3 returns the OpenAPI v3 document of a group and version, as an API server publishes it. If both are empty,
// it returns the index of all documents.
func (c *Client) OpenAPIV3(ctx context.Context, group, version string) ([]byte, error) {
	f, err := c.GetOpenAPI(ctx, OpenAPIOptions{Group: group, Version: version})
	return f.JSON, err
}

// OpenAPIV2 returns the OpenAPI v2 document of the catalog, as an API server publishes it.
func (c *Client) OpenAPIV2(ctx context.Context) ([]byte, error) {
	f, err := c.GetOpenAPI(ctx, OpenAPIOptions{V2: true})
	return f.JSON, err
}

// OpenAPIModels returns one OpenAPI v3 document of all versions of a CRD, including versions that are not served.
func (c *Client) OpenAPIModels(ctx context.Context, crd string) ([]byte, error) {
	request := &crdevalv1.GetOpenApiModelsRequest{Crd: crd}
	r, err := call(ctx, c, "OpenAPI models", c.APIServer().GetOpenApiModels, request)
	return r.GetDocument().GetJson(), err
}

// DiscoveryOptions select a document of GetDiscovery. The zero value selects the APIGroupList of all groups.
type DiscoveryOptions struct {
	// Group selects the APIGroup of a group.
	Group string
	// Version selects the APIResourceList of a version of Group.
	Version string
	// Aggregated selects the APIGroupDiscoveryList of all groups and resources. Then Group must be empty.
	Aggregated bool
	// CRD limits the document to one CRD, if it is established. Default: all established CRDs.
	CRD string
	// Revision is a revision of CRD that the catalog keeps. Default: the current revision.
	Revision string
	// IfNoneMatch is the etag of the document that the caller has. Default: always return the document.
	IfNoneMatch string
}

// GetDiscovery returns a discovery document of the catalog, as an API server publishes it.
func (c *Client) GetDiscovery(ctx context.Context, o DiscoveryOptions) (Fetched, error) {
	return fetched(call(ctx, c, "discover", c.Presentation().Discover, &crdevalv1.DiscoverRequest{
		Group: o.Group, Version: o.Version, Aggregated: o.Aggregated, Crd: o.CRD, Revision: o.Revision,
		IfNoneMatch: o.IfNoneMatch,
	}))
}

// Discover returns all groups and resources of the catalog as an APIGroupDiscoveryList of apidiscovery.k8s.io/v2 in
// JSON.
func (c *Client) Discover(ctx context.Context) ([]byte, error) {
	f, err := c.GetDiscovery(ctx, DiscoveryOptions{Aggregated: true})
	return f.JSON, err
}

// DiscoverGroups returns the APIGroupList of the catalog in JSON.
func (c *Client) DiscoverGroups(ctx context.Context) ([]byte, error) {
	f, err := c.GetDiscovery(ctx, DiscoveryOptions{})
	return f.JSON, err
}

// DiscoverResources returns the APIResourceList of a group and version in JSON.
func (c *Client) DiscoverResources(ctx context.Context, group, version string) ([]byte, error) {
	f, err := c.GetDiscovery(ctx, DiscoveryOptions{Group: group, Version: version})
	return f.JSON, err
}

// GetCRDObject returns a registered CRD as a Kubernetes object, with metadata, spec and status. ifNoneMatch is the etag
// of the object that the caller has, or empty.
func (c *Client) GetCRDObject(ctx context.Context, name, ifNoneMatch string) (Fetched, error) {
	request := &crdevalv1.GetCrdObjectRequest{Crd: name, IfNoneMatch: ifNoneMatch}
	return fetched(call(ctx, c, "get "+name, c.Presentation().GetCrdObject, request))
}

func fetched(r interface {
	GetDocument() *crdevalv1.Document
	GetEtag() string
}, err error) (Fetched, error) {
	if err != nil {
		return Fetched{}, err
	}
	return Fetched{JSON: r.GetDocument().GetJson(), ETag: r.GetEtag()}, nil
}
