package engine

import (
	"errors"
	"fmt"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
)

// Reason is a stable identifier of why something could not be evaluated.
type Reason string

// The reasons of an Error.
const (
	// ReasonInvalidArgument: the call itself is invalid, for example without an object, or with an unknown subresource.
	ReasonInvalidArgument = Reason(admission.InvalidArgument)
	// ReasonManifestUnreadable: the manifest is not valid JSON or YAML.
	ReasonManifestUnreadable = Reason(admission.ManifestUnreadable)
	// ReasonNotACRD: the manifest is not a CustomResourceDefinition of apiextensions.k8s.io/v1 or v1beta1.
	ReasonNotACRD = Reason(admission.NotACRD)
	// ReasonCRDRejected: an API server would not accept a CRD that is added to a Set. Error.Rejection is its answer, and
	// Error.Violations say why.
	ReasonCRDRejected Reason = "CRD_REJECTED"
	// ReasonCRDNotFound: a Set has no CRD for the apiVersion and kind of an object.
	ReasonCRDNotFound Reason = "CRD_NOT_FOUND"
	// ReasonObjectUnreadable: an object is not valid JSON or YAML, and the call has no result that could say so.
	ReasonObjectUnreadable = Reason(admission.ObjectUnreadable)
	// ReasonObjectRejected: the API server cannot decode the object, so it cannot be pruned, defaulted, read or
	// converted. Error.Rejection is the API server's answer. Validate and Admit report it in their Verdict instead.
	ReasonObjectRejected = Reason(admission.ObjectRejected)
	// ReasonVersionNotFound: the CRD does not list the version.
	ReasonVersionNotFound = Reason(admission.VersionNotFound)
	// ReasonVersionNotServed: the CRD lists the version but does not serve it.
	ReasonVersionNotServed = Reason(admission.VersionNotServed)
	// ReasonLimitExceeded: a document, or what aliases, defaults or violations add to it, exceeds a bound. Error.Limit
	// is the bound.
	ReasonLimitExceeded = Reason(admission.LimitExceeded)
	// ReasonItemDeadline: the context ended before the call did.
	ReasonItemDeadline = Reason(admission.Deadline)
	// ReasonConversionFailed: the conversion rules of the CRD do not convert the object, or the webhook reports that it
	// cannot convert. Err has a *conversionwebhook.Error. A retry fails again.
	ReasonConversionFailed = Reason(admission.ConversionFailed)
	// ReasonConversionUnavailable: the CRD converts with a webhook that cannot be called or has no valid response, or its
	// conversion rules are invalid. Err has a *conversionwebhook.Error, except for tables of items of lists.
	ReasonConversionUnavailable = Reason(admission.ConversionUnavailable)
	// ReasonInternal: a defect of crdeval, or a panic of a callback. After a panic, Error.Err is a *host.PanicError.
	ReasonInternal = Reason(admission.Internal)
)

// Error says why something could not be evaluated. It does not say whether an object is valid.
type Error struct {
	Reason  Reason
	Message string
	// Limit and Actual are set for ReasonLimitExceeded, in the unit of the limit (bytes, levels, path steps). Actual is
	// 0 if it is not known.
	Limit, Actual int64
	// Rejection is set for ReasonObjectRejected and ReasonCRDRejected.
	Rejection *Rejection
	// Violations are why a document cannot be read or is rejected. There is at least one for ReasonObjectRejected, and
	// for a document that is not JSON or YAML.
	Violations []Violation
	// Warnings go with Rejection, as in Verdict.Warnings.
	Warnings []Warning
	// Position is where the error is in the document, nil if that is not known.
	Position *Position
	// Err is the cause, if any: the error of a context, a syntax error, a *host.PanicError.
	Err error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the Reason of the first Error in err's chain, or "".
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

func invalid(format string, args ...any) error {
	return &Error{Reason: ReasonInvalidArgument, Message: fmt.Sprintf(format, args...)}
}

// failed returns an Error with a cause. what begins the message.
func failed(reason Reason, what string, err error) error {
	return &Error{Reason: reason, Message: what + ": " + err.Error(), Err: err}
}

// publicError returns the Error for a *admission.Fault or a *host.PanicError. It returns other errors as they are.
func publicError(err error) error {
	if p, ok := err.(*host.PanicError); ok { //nolint:errorlint // one that was just recovered
		return &Error{Reason: ReasonInternal, Message: "internal error: " + p.Error(), Err: p}
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch e := e.(type) { //nolint:errorlint // the outermost of the two decides
		case *Error:
			return err
		case *admission.Fault:
			return faultError(e)
		}
	}
	return err
}

// faultError returns the Error for an error of package admission.
func faultError(err error) *Error {
	var f *admission.Fault
	if !errors.As(err, &f) {
		return &Error{Reason: ReasonInternal, Message: "internal error: " + err.Error(), Err: err}
	}
	e := &Error{Reason: Reason(f.Code), Message: f.Text, Rejection: f.Rejection, Violations: violations(f.Violations),
		Warnings: warnings(f.Warnings), Err: f.Cause}
	if f.Limit != nil {
		e.Limit, e.Actual = f.Limit.Maximum, f.Limit.Actual
	}
	if at := f.Position; at != (Position{}) {
		e.Position = &at
	}
	return e
}
