package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// Reason is the machine-readable reason of an Error: the name of a crdeval.v1.ErrorReason without its prefix.
type Reason string

// The reasons of an Error.
const (
	InvalidArgument   Reason = "INVALID_ARGUMENT"
	CatalogNotFound   Reason = "CATALOG_NOT_FOUND"
	CatalogExists     Reason = "CATALOG_EXISTS"
	CatalogNotEmpty   Reason = "CATALOG_NOT_EMPTY"
	CatalogProtected  Reason = "CATALOG_PROTECTED"
	CRDNotFound       Reason = "CRD_NOT_FOUND"
	CRDExists         Reason = "CRD_EXISTS"
	CRDOutdated       Reason = "CRD_OUTDATED"
	CRDNotEstablished Reason = "CRD_NOT_ESTABLISHED"
	CRDRejected       Reason = "CRD_REJECTED"
	RevisionNotFound  Reason = "REVISION_NOT_FOUND"
	EtagMismatch      Reason = "ETAG_MISMATCH"
	ReplicaBehind     Reason = "REPLICA_BEHIND"
	TokenInvalid      Reason = "TOKEN_INVALID"
	WatchExpired      Reason = "WATCH_EXPIRED"
	StoreUnavailable  Reason = "STORE_UNAVAILABLE"
	Overloaded        Reason = "OVERLOADED"
	LimitExceeded     Reason = "LIMIT_EXCEEDED"
	QuotaExceeded     Reason = "QUOTA_EXCEEDED"
)

// IsFinal reports whether a retry of the manifest would fail too.
func (r Reason) IsFinal() bool {
	return slices.Contains([]Reason{InvalidArgument, CRDRejected, LimitExceeded, QuotaExceeded}, r)
}

// Error is the error of a call to the registry.
type Error struct {
	Reason   Reason
	Message  string
	Metadata map[string]string // names of the objects in Message: catalog, crd, revision, …
	Report   *Report           // of a rejected CRD
	Err      error             // the cause, or nil
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

type metadata = map[string]string

func errorf(reason Reason, m metadata, format string, args ...any) *Error {
	return &Error{Reason: reason, Metadata: m, Message: fmt.Sprintf(format, args...)}
}

// rejected returns the error of a CRD that was rejected where a valid one is required; subject begins its message.
func rejected(report *Report, field, subject string) *Error {
	var why string
	switch c := report.Conversion; {
	case report.Rejection != nil:
		why = report.Rejection.Message
	case c != nil && len(c.Violations) > 0:
		why = fmt.Sprintf("the conversion rules of %s are rejected: %s", report.Name, c.Violations[0].Error())
		if more := len(c.Violations) - 1; more > 0 {
			why += fmt.Sprintf(" (and %d more)", more)
		}
	}
	e := errorf(CRDRejected, metadata{"field": field}, "%s%s", subject, why)
	e.Report = report
	if subject != "" {
		e.Metadata["crd"] = report.Name
	}
	return e
}

// unavailable returns the error of a failed store. Details go to the log only.
func (r *Registry) unavailable(ctx context.Context, err error, outcomeUnknown bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.Log.ErrorContext(ctx, "the registry's store failed", "error", err)
	what := "the server's log has the details"
	var number syscall.Errno
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		what = failure.Public
	case errors.As(err, &number):
		what = number.Error()
	case errors.Is(err, ErrConflict):
		what = "other writes came first at each attempt"
	case errors.Is(err, ErrClosed):
		what = "it is closed"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		what = "it did not answer in time"
	}
	e := &Error{Reason: StoreUnavailable, Err: err, Message: "the registry's store failed: " + what + "; try again"}
	if outcomeUnknown {
		e.Metadata = metadata{"outcome": "unknown"}
		e.Message = "the registry's store failed: " + what +
			"; the change may have been made or not: try again, which is safe in both cases"
	}
	return e
}

// mayBeWritten reports whether the transaction of a failed Commit may have been or may still be made.
func mayBeWritten(err error) bool {
	failure := (*Failure)(nil)
	return !errors.Is(err, ErrClosed) && (!errors.As(err, &failure) || !failure.Unchanged)
}

func tooLarge(err error) error {
	e := &Error{Reason: LimitExceeded, Err: err, Message: "the registry's store does not accept so much in one write"}
	if failure := (*Failure)(nil); errors.As(err, &failure) {
		e.Message += ": " + failure.Public
	}
	return e
}
