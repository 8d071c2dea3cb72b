package registry

import (
	"context"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// Catalog describes a catalog.
type Catalog struct {
	Name            string
	KubernetesMinor int
	Etag            string
	Created         time.Time // zero for the default catalog before its first write
	CRDs            int       // how many it has
}

// CRD describes a registered CRD, or, as the answer of a check, one as it would be registered.
type CRD struct {
	Catalog, Name    string
	Revision, Etag   string
	Generation       int64
	Created, Updated time.Time
	Group, Kind      string
	ListKind         string
	Plural, Singular string
	ShortNames       []string
	Categories       []string
	Scope            string
	Versions         []engine.VersionInfo // in order of priority
	StorageVersion   string
	StoredVersions   []string
	// AcceptedNames are those that the CRD has in its group: they are not those of its manifest while another CRD has one of them.
	AcceptedNames      engine.Names
	ObservedGeneration int64
	Established        bool
	Conditions         []Condition
	Manifest           []byte // canonical JSON; nil unless asked for
	Status             []byte // JSON, as an API server shows it; nil unless the manifest was asked for
}

// Condition is a condition of a CRD's status.
type Condition struct {
	Type, Status, Reason, Message string
	LastTransitionTime            time.Time
	ObservedGeneration            int64
}

// Registration is the outcome of registering or checking a manifest.
type Registration struct {
	Report  *engine.Report
	CRD     *CRD    // nil unless Report.Accepted
	Outcome Outcome // for a check: what registering would come to
	Token   string  // of the write; empty for a check and for what was not accepted
}

// Outcome says what a registration came to.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "CREATED"   // the catalog had no CRD of that name
	Updated   Outcome = "UPDATED"   // another revision was current
	Unchanged Outcome = "UNCHANGED" // that revision was current already
	Refused   Outcome = "REFUSED"   // the report says why; nothing was written
)

// Submission is one of several manifests to register.
type Submission struct {
	Manifest     engine.Document
	Precondition Precondition
}

// Submitted is what came of a Submission: one of the two.
type Submitted struct {
	Registration Registration
	Err          error
}

// EventType says what happened to a CRD.
type EventType string

// The types of events.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Synced   EventType = "SYNCED" // everything until now was told; what follows is news
)

// Event is something that happened in a catalog.
type Event struct {
	Type  EventType
	CRD   *CRD   // as it is since, of a deleted one as it last was; nil for SYNCED. Without the manifest
	Token string // of the state that the event led to: watching goes on behind it
}

// MaxOverlay is how many CRDs an evaluation may bring along.
const MaxOverlay = 16

// Comparison says which two CRDs to compare: New with Base or, if that is absent, with what is registered as Name, at Revision or, if that is empty,
// at its current one; without a Name, with the one that has New's name.
type Comparison struct {
	New, Base      engine.Document
	Name, Revision string
	Objects        []engine.Document // to try both on, as stored by the old one
}

// Precondition of a registration. The zero value is none.
type Precondition struct {
	Etag       string // the CRD's current etag
	CreateOnly bool   // the catalog has no CRD of that name
}

// Page asks for a part of a list.
type Page struct {
	Size         int    // how many entries at most, from 1
	Token        string // Next of the page before, empty for the first
	WithManifest bool   // CRDs only
	MaxBytes     int    // CRDs with manifests only: end the page before their sum exceeds this; at least one entry is listed
}

// CRDPage is a page of a list of CRDs, by name.
type CRDPage struct {
	CRDs  []CRD
	Next  string // empty on the last page
	Token string // of the state listed
}

// CatalogPage is a page of the list of catalogs, by name.
type CatalogPage struct {
	Catalogs []Catalog
	Next     string // empty on the last page
	Token    string // of the state listed
}

// View is a catalog at one moment, for evaluation. It is safe for concurrent use.
type View interface {
	// Named returns the CRD of that name, at that revision or, if revision is empty, at its current one, compiled.
	Named(ctx context.Context, name, revision string) (*engine.Definition, error)
	// OfKind is Named for the established CRD that has that group and kind.
	OfKind(ctx context.Context, group, kind, revision string) (*engine.Definition, error)
}

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
	TokenForeign      Reason = "TOKEN_FOREIGN"
	WatchExpired      Reason = "WATCH_EXPIRED"
	StoreUnavailable  Reason = "STORE_UNAVAILABLE"
	Overloaded        Reason = "OVERLOADED"
	CRDRefused        Reason = "CRD_REFUSED" // Report says why
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
