package engine

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Reason says in one word, stable across releases, why something could not be evaluated.
type Reason string

// The reasons of an Error.
const (
	// ReasonInvalidArgument: the call itself makes no sense (no object, both JSON and YAML, an unknown subresource).
	ReasonInvalidArgument Reason = "INVALID_ARGUMENT"
	// ReasonManifestUnreadable: the manifest is not readable JSON or YAML.
	ReasonManifestUnreadable Reason = "MANIFEST_UNREADABLE"
	// ReasonNotACRD: the manifest is readable, but no CustomResourceDefinition of apiextensions.k8s.io/v1 or v1beta1.
	ReasonNotACRD Reason = "NOT_A_CRD"
	// ReasonObjectUnreadable: an object is not readable JSON or YAML, and the call is one that needs to look into it first.
	ReasonObjectUnreadable Reason = "OBJECT_UNREADABLE"
	// ReasonObjectRefused: the object cannot be decoded as the API server decodes it, so there is nothing to prune,
	// default, read or convert. Error.Refusal says what the API server would answer. Validate reports it in its Verdict.
	ReasonObjectRejected Reason = "OBJECT_REJECTED"
	// ReasonVersionNotFound: the CRD lists no such version.
	ReasonVersionNotFound Reason = "VERSION_NOT_FOUND"
	// ReasonVersionNotServed: the CRD lists the version, but does not serve it.
	ReasonVersionNotServed Reason = "VERSION_NOT_SERVED"
	// ReasonLimitExceeded: a document is too large or too deep, aliases or defaults make too much of it, or too much is wrong with it;
	// Error.Limit has the bound.
	ReasonLimitExceeded Reason = "LIMIT_EXCEEDED"
	// ReasonItemDeadline: the context's deadline passed, or it was cancelled, before the item was done.
	ReasonItemDeadline Reason = "ITEM_DEADLINE"
	// ReasonFeatureNotAvailable: this version of crdeval cannot do it yet; the message says what to do instead.
	ReasonFeatureNotAvailable Reason = "FEATURE_NOT_AVAILABLE"
	// ReasonConversionUnavailable: the CRD converts by a webhook that cannot be called or did not answer.
	ReasonConversionUnavailable Reason = "CONVERSION_UNAVAILABLE"
	// ReasonInternal: a defect of crdeval itself, or a panic of a callback. Every function that returns an error recovers from panics;
	// Error.Err is then a *PanicError.
	ReasonInternal Reason = "INTERNAL"
)

// Error is something that could not be evaluated. It says nothing about whether an object is valid.
type Error struct {
	Reason  Reason
	Message string
	// Limit and Actual are set for ReasonLimitExceeded, in the limit's own unit (bytes, levels, path steps); Actual is 0 where the
	// reader stopped before knowing it.
	Limit, Actual int64
	// Refusal is set for ReasonObjectRefused.
	Rejection *Rejection
	// Warnings go with a Refusal: what an API server does not tell of it, as Verdict.Warnings has it. None mostly.
	Warnings []string
	// Position is where in the document it went wrong, nil if that is not known.
	Position *Position
	// Err is the cause, nil mostly: a context's error, a syntax error.
	Err error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// PanicError is the cause (Error.Err) of an Error with ReasonInternal that was a panic.
type PanicError struct {
	// Value is what panic was called with, Stack the stack trace of its goroutine.
	Value any
	Stack []byte
}

// Error returns the panic's value without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// recovered turns a panic into an Error with ReasonInternal. Functions that return an error defer it.
func recovered(err *error) {
	if p := recover(); p != nil {
		cause := &PanicError{Value: p, Stack: debug.Stack()}
		*err = &Error{Reason: ReasonInternal, Message: "internal error: " + cause.Error(), Err: cause}
	}
}

// ReasonOf returns the Reason of the first Error in err's chain, and "" if there is none.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}
