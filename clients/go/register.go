package crdeval

import (
	"context"
	"fmt"
	"strings"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// RejectedError is the error for a CRD that an API server would reject. Report has the reasons.
type RejectedError struct {
	Report *crdevalv1.CrdReport
}

// Error lists the violations, one per line. If the manifest cannot be decoded, it has the message of the API server.
func (e *RejectedError) Error() string {
	lines := make([]string, 0, len(e.Report.GetViolations())+1)
	lines = append(lines, "crdeval: the CustomResourceDefinition would be refused")
	for _, v := range e.Report.GetViolations() {
		lines = append(lines, v.GetField()+": "+v.GetMessage())
	}
	if m := e.Report.GetRejection().GetMessage(); m != "" && len(e.Report.GetViolations()) == 0 {
		lines = append(lines, m)
	}
	return strings.Join(lines, "\n  ")
}

// RegisterCRD registers a CustomResourceDefinition, JSON or YAML. The error is a *RejectedError if an API server would
// reject the CRD, otherwise a gRPC status. Later calls of this client see the registration, at any replica.
func (c *Client) RegisterCRD(ctx context.Context, manifest []byte) (*crdevalv1.RegisterCrdResponse, error) {
	r, err := c.Registry().RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: c.catalog, Manifest: Document(manifest)})
	if err != nil {
		return nil, fmt.Errorf("crdeval: register: %w", err)
	}
	if !r.GetAccepted() {
		return r, &RejectedError{Report: r.GetReport()}
	}
	c.wrote(r.GetToken())
	return r, nil
}

// CheckCRD validates a CustomResourceDefinition without registering it. If an API server would reject the CRD, the
// response says so; this is not an error.
func (c *Client) CheckCRD(ctx context.Context, manifest []byte) (*crdevalv1.CheckCrdResponse, error) {
	r, err := c.Registry().CheckCrd(ctx, &crdevalv1.CheckCrdRequest{
		Catalog: c.catalog, Manifest: Document(manifest), AtLeast: c.atLeast(),
	})
	if err != nil {
		return nil, fmt.Errorf("crdeval: check: %w", err)
	}
	return r, nil
}

// DeleteCRD deletes a CRD by its name: crontabs.stable.example.com.
func (c *Client) DeleteCRD(ctx context.Context, name string) error {
	r, err := c.Registry().DeleteCrd(ctx, &crdevalv1.DeleteCrdRequest{Catalog: c.catalog, Crd: name})
	if err != nil {
		return fmt.Errorf("crdeval: delete %s: %w", name, err)
	}
	c.wrote(r.GetToken())
	return nil
}
