package lens

import (
	"encoding/json"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// File is a conversion file: the rules of one CRD.
type File struct {
	// CRD is the name of the CRD, such as crontabs.stable.example.com.
	CRD string
	// Hub is the version that conversions between two other versions go through, or "".
	Hub   string
	pairs []pair
}

// pair has the rules between two versions.
type pair struct {
	between [2]string
	rules   []ruleText
	except  []Law
	at      tree.Path // of between in the file
}

// Law is a property that conversions must have.
type Law string

// The laws that are tested on generated objects.
const (
	// RoundTrip: a conversion and the conversion back change nothing, apart from what Normalize removes.
	RoundTrip Law = "round-trip"
	// Edit: the conversion back keeps the changes that a user makes to a converted object.
	Edit Law = "edit"
	// Locality: the conversion of a part of an object is a part of the conversion of the object.
	Locality Law = "locality"
	// Metadata: metadata does not change, except for the annotations of stash rules.
	Metadata Law = "metadata"
	// Validity: the conversion of a valid object is valid.
	Validity Law = "validity"
	// Size: the annotations of stash rules stay below the limit of Kubernetes.
	Size Law = "size"
	// Determinism: equal objects have equal conversions.
	Determinism Law = "determinism"
	// Status: a conversion and the conversion back do not change the status.
	Status Law = "status"
)

// Laws are all laws.
var Laws = []Law{RoundTrip, Edit, Locality, Metadata, Validity, Size, Determinism, Status}

// Kind is the kind of a rule.
type Kind string

// The kinds of rules.
const (
	Equal  Kind = "equal" // not written in files: the fields that both versions have
	Move   Kind = "move"
	List   Kind = "list"
	Values Kind = "values"
	CEL    Kind = "cel"
	Stash  Kind = "stash"
	Drop   Kind = "drop"
)

// ruleText is a rule as the file has it.
type ruleText struct {
	kind     Kind
	index    int       // in its pair
	at       tree.Path // in the file
	from, to path      // of move, list and values. The path of stash and drop is in from, that of cel in to.
	key      string    // of list
	values   [][2]text // of values, in the order of the file
	maxBytes int64     // of stash
	expr     string    // of cel
	back     []backText
}

// text is a scalar and its position.
type text struct {
	kind tree.Kind
	json string
	at   tree.Path
}

// shown returns a string without quotes, for errors that quote it.
func (t *text) shown() string {
	plain := t.json
	if t.kind == tree.String {
		_ = json.Unmarshal([]byte(t.json), &plain)
	}
	return plain
}

// backText is an expression under back.
type backText struct {
	to   path
	expr string
	at   tree.Path
}

// Limits of a file.
const (
	maxPairs      = 100
	maxRules      = 1000 // of a pair
	maxValues     = 10_000
	maxStashBytes = 256 << 10 // the limit of Kubernetes for all annotations of an object
)
