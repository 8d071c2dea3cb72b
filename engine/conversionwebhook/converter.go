// Package conversionwebhook is for programs that call the conversion webhooks of CRDs: the engine does no I/O, and
// converts with the Converter in engine.Options.
package conversionwebhook

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Converter converts objects with the conversion webhook of a CRD. It must be safe for concurrent use and honour its
// context.
type Converter interface {
	// Convert returns one object for each in the request, in the same order, as JSON. The engine checks the result as an
	// API server does: number, names, kinds and version of the objects. The error of the evaluation then has
	// engine.ReasonConversionFailed if ErrFailed is in the chain of the error, otherwise
	// engine.ReasonConversionUnavailable.
	Convert(ctx context.Context, request Request) ([][]byte, error)
}

// MaxObjects is the largest number of objects in a Request.
const MaxObjects = 1000

// Request is a request to a conversion webhook.
type Request struct {
	// CRD is the name of the CRD: crontabs.stable.example.com.
	CRD string
	// Webhook is the configuration in the CRD. It must not be modified.
	Webhook *apiextensionsv1.WebhookConversion
	// DesiredAPIVersion is the version to convert to: stable.example.com/v1.
	DesiredAPIVersion string
	// Objects are JSON objects, each with its own apiVersion.
	Objects [][]byte
}

// ErrFailed is in the chain of a Converter's error if the webhook reports that it cannot convert. Other errors mean that
// the webhook is not available.
var ErrFailed = errors.New("the webhook cannot convert the objects")

// CountError is the error of a Converter that combines requests, if a webhook returns another number of objects than it
// was given.
type CountError struct{ Got, Want int }

// Error returns the text of an API server without its start.
func (e *CountError) Error() string {
	return fmt.Sprintf("returned %d objects, expected %d", e.Got, e.Want)
}

// Error is the cause of an engine.Error with ReasonConversionFailed or ReasonConversionUnavailable: of a webhook, or of
// the declared conversion rules that replace one.
type Error struct {
	// CRD is the name of the CRD. From and To are the versions.
	CRD, From, To string
	// Rule is the declared rule that cannot convert the object, such as rules[3] (values). Path leads to the value in the
	// object: spec.ports[0].name. Both are "" for webhooks, or if they are not known.
	Rule, Path string
	// Preamble is how the message begins if no webhook was called. It is the text of an API server that calls crdeval as
	// the webhook. Otherwise "".
	Preamble string
	// Err is the cause.
	Err error
}

// Error returns the message without Preamble.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
