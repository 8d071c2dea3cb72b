package admission

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/lens"
)

// ErrConversionFailed is in the chain of a Converter's error if the webhook reports that it cannot convert. Other errors
// mean that the webhook is not available.
var ErrConversionFailed = errors.New("the webhook cannot convert the objects")

// ConversionError is the cause of a Fault with ConversionFailed or ConversionUnavailable.
type ConversionError struct {
	// CRD is the name of the CRD. From and To are the versions.
	CRD, From, To string
	// Rule is the declared rule that cannot convert the object, such as rules[3] (values). Path leads to the value in the
	// object: spec.ports[0].name. Both are "" for webhooks, or if they are not known.
	Rule, Path string
	// Preamble is how the message begins if no webhook was called. It is the text of an API server that calls crdeval as
	// the webhook. Otherwise "".
	Preamble string
	err      error
}

// Error returns the message without Preamble.
func (e *ConversionError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *ConversionError) Unwrap() error { return e.err }

// unconverted returns the Fault of a failed conversion. to can be an apiVersion.
func (d *Definition) unconverted(code Code, from, to string, err error) *Fault {
	c := &ConversionError{CRD: d.Name, From: from, To: strings.TrimPrefix(to, d.Group+"/"), err: err}
	var failed *lens.Error
	if errors.As(err, &failed) {
		c.Rule, c.Path = failed.Rule, failed.Path.Bracketed()
	}
	return &Fault{Code: code, Text: err.Error(), Cause: c}
}

// webhookFailed returns the beginning of an API server's answer if a call of a webhook for an object fails.
func webhookFailed(of schema.GroupVersionKind) string {
	return fmt.Sprintf("conversion webhook for %v failed: ", of)
}
