package registry

import (
	"fmt"

	"github.com/crdeval/crdeval/engine"
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
)

// Error is the error of a call to the registry.
type Error struct {
	Reason   Reason
	Message  string
	Metadata map[string]string // names of the objects in Message: catalog, crd, revision, …
	Report   *engine.Report    // of a rejected CRD
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
func rejected(report *engine.Report, field, subject string) *Error {
	e := errorf(CRDRejected, metadata{"field": field}, "%s%s", subject, report.Rejection.Message)
	e.Report = report
	if subject != "" {
		e.Metadata["crd"] = report.Name
	}
	return e
}
