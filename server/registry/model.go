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
	// Discoverable describes all CRDs, by name, for engine.Discover. Nothing is compiled.
	Discoverable() []engine.DiscoverableCRD
	// Published describes the established CRDs, by name, for engine.OpenAPIV3 and V2. Nothing is compiled.
	Published() []engine.PublishedCRD
	// State is comparable: it equals that of another view of this process exactly if nothing was written to the catalog in between. It keeps nothing in memory.
	State() any
}
