package registry

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
)

// Catalog describes a catalog.
type Catalog struct {
	Name       string
	Kubernetes string // "1.34"; "": the latest
	Etag       string
	Created    time.Time // zero for the default catalog before its first write
	CRDs       int       // how many CRDs it has
	Revisions  int       // how many stored revisions these have
	Bytes      int64     // the compressed size of these revisions
	Watches    int       // how many open watches this replica has
	Quota      Quota
}

// CRD describes a registered CRD. In the answer to Check it describes the CRD as it would be registered.
type CRD struct {
	Catalog, Name    string
	Revision, Etag   string
	Generation       int64
	Created, Updated time.Time
	Scope            string
	Versions         []engine.VersionInfo                           // in order of priority
	Desired          kubeserver.DesiredStatus                       // of the manifest: group, names, storage version
	Status           apiextensionsv1.CustomResourceDefinitionStatus // names that another CRD of the group holds are not accepted
	Established      bool
	Manifest         []byte // canonical JSON; nil unless requested
	Conversion       []byte // the conversion rules as JSON; nil for none, and unless the manifest is requested or rules are set
	StatusJSON       []byte // as an API server shows it; nil unless the manifest is requested
	NotOlderThan     int64  // the largest Precondition.NotOlderThan of its registrations
	AsStored         bool   // it was registered as stored by another server
	Metadata         StoredMetadata
}

// Registration is the result of registering or checking a manifest, or of setting conversion rules.
type Registration struct {
	Report  *Report
	CRD     *CRD    // nil if the Outcome is Rejected
	Outcome Outcome // of a check: the outcome that registering would have
	Token   string  // of the write; empty for a check and if the Outcome is Rejected
}

// Subject is what a registration is about.
type Subject string

// The subjects of registrations.
const (
	SubjectCRD        Subject = "crd"
	SubjectConversion Subject = "conversion" // the conversion rules of a CRD were set or removed
)

// Outcome is the outcome of a registration.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "CREATED"
	Updated   Outcome = "UPDATED"
	Unchanged Outcome = "UNCHANGED" // nothing was written, since the revision was current already
	Rejected  Outcome = "REJECTED"  // nothing was written; the report has the reason
)

// Precondition is a condition of a registration. The zero value always holds.
type Precondition struct {
	Etag       string // the CRD has this etag
	CreateOnly bool   // the catalog has no CRD with the name
	// NotOlderThan is a number that increases with every write of the CRD to the storage that the caller mirrors. No
	// earlier registration or deletion of the CRD has had a larger one.
	NotOlderThan int64
}

// Page selects a page of a list.
type Page struct {
	Size         int                    // maximum number of entries; 0 means DefaultPageSize
	Token        string                 // Next of the previous page, empty for the first
	WithManifest bool                   // CRDs only
	MaxBytes     int                    // maximum sum of the manifests, unless the page has only one entry
	Grow         func(n int64) error    // is called before n bytes are unpacked; an error ends the page, or fails an empty one; nil: not called
	Visible      func(name string) bool // catalogs only: others are skipped; nil: none
}

// CRDPage is a page of a list of CRDs, by name.
type CRDPage struct {
	CRDs  []CRD
	Next  string // empty on the last page
	Token string // of the listed state
}

// CatalogPage is a page of the list of catalogs, by name.
type CatalogPage struct {
	Catalogs []Catalog
	Next     string // empty on the last page
	Token    string // of the listed state
}

// View is a catalog at one moment, for evaluation. It is safe for concurrent use.
type View interface {
	// Named returns the compiled CRD of that name at a revision; "" is the current revision.
	Named(ctx context.Context, name, revision string) (*engine.Definition, error)
	// OfKind is Named for the established CRD of a group and kind.
	OfKind(ctx context.Context, group, kind, revision string) (*engine.Definition, error)
	// AllCRDs describes all CRDs by name, for publish.Discover, or the established ones, for OpenAPI documents and
	// publish.Explain. It compiles nothing.
	AllCRDs(established bool) []publish.CRD
	// DescribeCRD describes one CRD at a revision; "" is the current one. It compiles nothing.
	DescribeCRD(name, revision string) (publish.CRD, error)
	// State is comparable: it equals that of another View of this process if the catalog did not change in between. It
	// retains no memory.
	State() any
}
