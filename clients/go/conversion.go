package crdeval

import (
	"context"
	"fmt"
	"strings"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// RejectedConversionError is the error for conversion rules that are not accepted. Report has the reasons.
type RejectedConversionError struct {
	Report *crdevalv1.ConversionReport
}

// Error lists the violations with their lines, and the laws that do not hold, one per line.
func (e *RejectedConversionError) Error() string {
	lines := []string{"crdeval: the conversion rules are rejected"}
	for _, v := range e.Report.GetViolations() {
		line := v.GetField() + ": " + v.GetMessage()
		if at := v.GetPosition(); at != nil {
			line = fmt.Sprintf("line %d: %s", at.GetLine(), line)
		}
		lines = append(lines, line)
	}
	for _, law := range e.Report.GetLaws() {
		if c := law.GetCounterexample(); c != nil && !law.GetExcepted() {
			lines = append(lines, fmt.Sprintf("the law %q does not hold from %s to %s. %s Object: %s",
				law.GetLaw(), law.GetFromVersion(), law.GetToVersion(), c.GetText(), c.GetObject().GetJson()))
		}
	}
	return strings.Join(lines, "\n  ")
}

// ConversionOptions are the options of SetConversion. The zero value writes the rules without a precondition.
type ConversionOptions struct {
	// Etag makes the write conditional: it fails with ETAG_MISMATCH if this is not the current etag of the CRD.
	Etag string
	// ValidateOnly returns the result without storing the rules.
	ValidateOnly bool
}

// SetConversion sets the conversion rules of a CRD, JSON or YAML. The rules `null` remove them. The CRD must be
// registered. The error is a *RejectedConversionError if the rules are not accepted, otherwise a gRPC status. Later calls
// of this client see the rules, at any replica.
func (c *Client) SetConversion(
	ctx context.Context, name string, rules []byte, o ConversionOptions,
) (*crdevalv1.SetConversionResponse, error) {
	request := &crdevalv1.SetConversionRequest{
		Crd: name, Rules: Document(rules), Etag: o.Etag, ValidateOnly: o.ValidateOnly,
	}
	r, err := call(ctx, c, "set conversion of "+name, c.Registry().SetConversion, request)
	if err == nil && !r.GetAccepted() {
		return nil, &RejectedConversionError{Report: r.GetReport()}
	}
	return r, err
}

// RemoveConversion removes the conversion rules of a CRD. A CRD without rules stays as it is.
func (c *Client) RemoveConversion(ctx context.Context, name string) error {
	_, err := call(ctx, c, "remove conversion of "+name, c.Registry().SetConversion, &crdevalv1.SetConversionRequest{Crd: name})
	return err
}
