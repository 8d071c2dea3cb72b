package crdeval

import (
	"context"
	"fmt"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Registered is the result of registering one of several manifests.
type Registered struct {
	// Source is the file of the manifest, set by RegisterDir. It is `crds.yaml#2` for the second of several documents.
	// Empty for RegisterAll.
	Source string
	// Name is the name of the CRD. Empty if it could not be read from the manifest.
	Name string
	// Response is the response for this CRD. Nil if crdeval could not validate or store the CRD.
	Response *crdevalv1.RegisterCrdResponse
	// Err is a *RejectedError if an API server would reject the CRD, and a gRPC status if crdeval could not validate or
	// store it. Otherwise nil.
	Err error
}

// entriesAtOnce is the maximum number of CRDs in a call. Validating a large CRD takes some ten milliseconds, and a call
// should end within seconds.
const entriesAtOnce = 100

// RegisterAll registers CRDs, JSON or YAML, one after the other. Result i belongs to manifest i. A CRD that fails does
// not affect the others.
//
// The CRDs are sent in as many calls as needed. If a call fails, RegisterAll returns its error with the results of the
// earlier calls. Later calls of this client see all registrations, at any replica.
func (c *Client) RegisterAll(ctx context.Context, manifests ...[]byte) ([]Registered, error) {
	limits, err := c.serverLimits(ctx)
	if err != nil {
		return nil, fmt.Errorf("crdeval: server info: %w", err)
	}
	entries := make([]*crdevalv1.RegisterCrdsEntry, len(manifests))
	for i, m := range manifests {
		entries[i] = &crdevalv1.RegisterCrdsEntry{Manifest: Document(m)}
	}
	most := entriesAtOnce
	if limit := int(limits.GetMaxRegisterCrds()); limit > 0 {
		most = min(most, limit)
	}
	all := make([]Registered, 0, len(manifests))
	for len(entries) > 0 {
		n := fitting(entries, most, limits.GetMaxMessageBytes())
		r, err := c.Registry().RegisterCrds(ctx, &crdevalv1.RegisterCrdsRequest{Catalog: c.catalog, Entries: entries[:n]})
		if err != nil {
			return all, fmt.Errorf("crdeval: register: %w", err)
		}
		if len(r.GetResults()) != n {
			return all, fmt.Errorf("crdeval: register: %d results for %d CRDs", len(r.GetResults()), n)
		}
		c.wrote(r.GetToken())
		for _, result := range r.GetResults() {
			all = append(all, registered(result))
		}
		entries = entries[n:]
	}
	return all, nil
}

func registered(r *crdevalv1.RegisterCrdsResult) Registered {
	one := Registered{Name: r.GetCrd(), Response: r.GetRegistration()}
	switch {
	case r.GetError() != nil:
		one.Err = status.ErrorProto(r.GetError())
	case !r.GetRegistration().GetAccepted():
		one.Err = &RejectedError{Report: r.GetRegistration().GetReport()}
	}
	return one
}

// SetStoredVersions sets the versions that stored objects of a CRD may have, after the other objects were migrated. The
// list must have the storage version. A later registration may drop the removed versions. It returns the CRD after the
// write.
func (c *Client) SetStoredVersions(ctx context.Context, name string, versions ...string) (*crdevalv1.Crd, error) {
	r, err := c.Registry().SetStoredVersions(ctx, &crdevalv1.SetStoredVersionsRequest{Catalog: c.catalog, Crd: name, StoredVersions: versions})
	if err != nil {
		return nil, fmt.Errorf("crdeval: set stored versions of %s: %w", name, err)
	}
	c.wrote(r.GetToken())
	return r.GetCrd(), nil
}

// Diff compares a CRD, JSON or YAML, with the registered CRD of its name. It returns the effect on stored objects and
// on clients, and on the given objects.
func (c *Client) Diff(ctx context.Context, manifest []byte, objects ...[]byte) (*crdevalv1.DiffCrdResponse, error) {
	return c.diff(ctx, &crdevalv1.DiffCrdRequest{Manifest: Document(manifest)}, objects)
}

// DiffManifests is Diff against the manifest base instead of the registered CRD.
func (c *Client) DiffManifests(ctx context.Context, base, manifest []byte, objects ...[]byte) (*crdevalv1.DiffCrdResponse, error) {
	return c.diff(ctx, &crdevalv1.DiffCrdRequest{Base: Document(base), Manifest: Document(manifest)}, objects)
}

func (c *Client) diff(ctx context.Context, r *crdevalv1.DiffCrdRequest, objects [][]byte) (*crdevalv1.DiffCrdResponse, error) {
	r.Catalog, r.AtLeast = c.catalog, c.atLeast()
	for _, o := range objects {
		r.Objects = append(r.Objects, Document(o))
	}
	answer, err := c.Registry().DiffCrd(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("crdeval: diff: %w", err)
	}
	return answer, nil
}
