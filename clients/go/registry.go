package crdeval

import (
	"context"
	"strings"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// RejectedError is the error for a CRD that an API server would reject. Report has the reasons.
type RejectedError struct {
	Report *crdevalv1.CrdReport
}

// Error lists the violations, one per line. If the manifest cannot be decoded, it has the message of the API server.
func (e *RejectedError) Error() string {
	lines := []string{"crdeval: an API server would reject the CustomResourceDefinition"}
	for _, v := range e.Report.GetViolations() {
		lines = append(lines, v.GetField()+": "+v.GetMessage())
	}
	if m := e.Report.GetRejection().GetMessage(); m != "" && len(lines) == 1 {
		lines = append(lines, m)
	}
	return strings.Join(lines, "\n  ")
}

// rejectionOf returns a *RejectedError unless the registration was accepted.
func rejectionOf(r *crdevalv1.RegisterCrdResponse) error {
	if r.GetAccepted() {
		return nil
	}
	return &RejectedError{Report: r.GetReport()}
}

// RegisterCRD registers a CustomResourceDefinition, JSON or YAML. The error is a *RejectedError if an API server would
// reject the CRD, otherwise a gRPC status. Later calls of this client see the registration, at any replica.
func (c *Client) RegisterCRD(ctx context.Context, manifest []byte) (*crdevalv1.RegisterCrdResponse, error) {
	request := &crdevalv1.RegisterCrdRequest{Manifest: Document(manifest)}
	r, err := call(ctx, c, "register", c.Registry().RegisterCrd, request)
	if err != nil {
		return nil, err
	}
	return r, rejectionOf(r)
}

// CheckCRD validates a CustomResourceDefinition without registering it. If an API server would reject the CRD, the
// response says so; this is not an error.
func (c *Client) CheckCRD(ctx context.Context, manifest []byte) (*crdevalv1.CheckCrdResponse, error) {
	return call(ctx, c, "check", c.Registry().CheckCrd, &crdevalv1.CheckCrdRequest{Manifest: Document(manifest)})
}

// DeleteCRD deletes a CRD by its name: crontabs.stable.example.com.
func (c *Client) DeleteCRD(ctx context.Context, name string) error {
	_, err := call(ctx, c, "delete "+name, c.Registry().DeleteCrd, &crdevalv1.DeleteCrdRequest{Crd: name})
	return err
}

// Registered is the result of registering one of several manifests.
type Registered struct {
	// Source is the file of the manifest, set by RegisterDir. It is `crds.yaml#2` for the second of several documents.
	// Empty for RegisterAll.
	Source string
	// Name is the name of the CRD. Empty if it could not be read from the manifest.
	Name string
	// Response is the response for this CRD. Nil if crdeval could not validate or store the CRD, and for conversion rules.
	Response *crdevalv1.RegisterCrdResponse
	// Conversion is the response for conversion rules of RegisterDir. Nil if they are not accepted, and for CRDs.
	Conversion *crdevalv1.SetConversionResponse
	// Err is a *RejectedError if an API server would reject the CRD, a *RejectedConversionError for conversion rules that
	// are not accepted, and a gRPC status if crdeval could not validate or store the document. Otherwise nil.
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
	entries := mapped(manifests, func(m []byte) *crdevalv1.RegisterCrdsEntry {
		return &crdevalv1.RegisterCrdsEntry{Manifest: Document(m)}
	})
	request := &crdevalv1.RegisterCrdsRequest{}
	return inBatches(ctx, c, "register", c.Registry().RegisterCrds, request, "entries", entries, registered)
}

func registered(r *crdevalv1.RegisterCrdsResult) Registered {
	one := Registered{Name: r.GetCrd(), Response: r.GetRegistration(), Err: status.ErrorProto(r.GetError())}
	if one.Err == nil {
		one.Err = rejectionOf(one.Response)
	}
	return one
}

// SetStoredVersions sets the versions that stored objects of a CRD may have, after the other objects were migrated. An
// empty list becomes the storage version. A later registration may drop the removed versions. It returns the CRD after
// the write.
func (c *Client) SetStoredVersions(ctx context.Context, name string, versions ...string) (*crdevalv1.Crd, error) {
	request := &crdevalv1.SetStoredVersionsRequest{Crd: name, StoredVersions: versions}
	r, err := call(ctx, c, "set stored versions of "+name, c.Registry().SetStoredVersions, request)
	return r.GetCrd(), err
}

// Diff compares a CRD, JSON or YAML, with the registered CRD of its name. It returns the effect on stored objects and
// on clients, and on the given objects.
func (c *Client) Diff(ctx context.Context, manifest []byte, objects ...[]byte) (*crdevalv1.DiffCrdResponse, error) {
	request := &crdevalv1.DiffCrdRequest{Manifest: Document(manifest), Objects: documents(objects)}
	return call(ctx, c, "diff", c.Registry().DiffCrd, request)
}

// DiffManifests is Diff against the manifest base instead of the registered CRD.
func (c *Client) DiffManifests(
	ctx context.Context, base, manifest []byte, objects ...[]byte,
) (*crdevalv1.DiffCrdResponse, error) {
	request := &crdevalv1.DiffCrdRequest{Base: Document(base), Manifest: Document(manifest), Objects: documents(objects)}
	return call(ctx, c, "diff", c.Registry().DiffCrd, request)
}
