package registry

import "github.com/crdeval/crdeval/engine"

// Reason says in one word why a call failed: the name of a crdeval.v1.ErrorReason without its prefix.
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
	RevisionNotFound  Reason = "REVISION_NOT_FOUND"
	EtagMismatch      Reason = "ETAG_MISMATCH"
	ReplicaBehind     Reason = "REPLICA_BEHIND"
	TokenForeign      Reason = "TOKEN_INVALID"
	WatchExpired      Reason = "WATCH_EXPIRED"
	StoreUnavailable  Reason = "STORE_UNAVAILABLE"
	Overloaded        Reason = "OVERLOADED"
	CRDRefused        Reason = "CRD_REJECTED" // Report says why
	LimitExceeded     Reason = "LIMIT_EXCEEDED"
)

// Error is why a call to the registry failed. What the engine says of a document stays an *engine.Error.
type Error struct {
	Reason   Reason
	Message  string            // names the object, the rule and what to do
	Metadata map[string]string // what the message names, for programs: catalog, crd, revision, …
	Report   *engine.Report    // of a refused CRD
	Err      error             // the cause, nil mostly
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
