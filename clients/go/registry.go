package crdeval

import (
	"context"
	"fmt"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Registered is what became of one of several manifests.
type Registered struct {
	// Source says which one it is: the file of RegisterDir, `crds.yaml#2` for the second document of one that has several. Empty for RegisterAll.
	Source string
	// Name is that of the CRD, as far as the manifest could be read.
	Name string
	// Response is the answer. Nil where crdeval could not judge or keep the CRD.
	Response *crdevalv1.RegisterCrdResponse
	// Err is a *RefusedError for a CRD that an API server would refuse, and a gRPC status for one that crdeval could not judge or keep.
	Err error
}

// entriesAtOnce bounds the CRDs of a call: judging a large one takes some ten milliseconds, and a call should end within some seconds.
const entriesAtOnce = 100

// RegisterAll registers CRDs, JSON or YAML, one after the other in their order. Results are aligned with the manifests; one's failure is nobody
// else's. They are sent in as many calls as it takes; when one of these fails, the error says so, and the results of those before are
// returned with it. Later calls of this client see all of them, at any replica.
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
		one.Err = &RefusedError{Report: r.GetRegistration().GetReport()}
	}
	return one
}

// SetStoredVersions says in which versions objects of a CRD may still be stored, once all others were migrated: the storage version at least. A
// later registration may then drop the versions that went. It returns the CRD as it stands then.
func (c *Client) SetStoredVersions(ctx context.Context, name string, versions ...string) (*crdevalv1.Crd, error) {
	r, err := c.Registry().SetStoredVersions(ctx, &crdevalv1.SetStoredVersionsRequest{Catalog: c.catalog, Crd: name, StoredVersions: versions})
	if err != nil {
		return nil, fmt.Errorf("crdeval: set stored versions of %s: %w", name, err)
	}
	c.wrote(r.GetToken())
	return r.GetCrd(), nil
}

// Diff says what would change for stored objects and for clients if a CRD, JSON or YAML, replaced the registered one of its name, and
// how the given objects would fare.
func (c *Client) Diff(ctx context.Context, manifest []byte, objects ...[]byte) (*crdevalv1.DiffCrdResponse, error) {
	return c.diff(ctx, &crdevalv1.DiffCrdRequest{Manifest: Document(manifest)}, objects)
}

// DiffManifests is Diff with another manifest in the place of the registered CRD.
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
