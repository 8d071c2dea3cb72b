package lens

import (
	"encoding/json"

	"github.com/crdeval/crdeval/engine/value"
)

// File is a conversion file: the rules of one CRD.
type File struct {
	// CRD is the name of the CRD: crontabs.stable.example.com.
	CRD string
	// Hub is the version through which conversions go between versions that no pair has, or "".
	Hub   string
	pairs []pair
}

// pair has the rules between two versions.
type pair struct {
	between [2]string
	rules   []ruleText
	except  []Law
	at      value.Path // of between in the file
}

// Law is a property that conversions must have.
type Law string

// The laws that are tested on generated objects.
const (
	// RoundTrip: an object that is converted and converted back is equal, apart from what Normalize removes.
	RoundTrip Law = "round-trip"
	// Edit: what a user changes in a converted object is kept when it is converted back.
	Edit Law = "edit"
	// Locality: a part of an object is converted to a part of the converted object.
	Locality Law = "locality"
	// Metadata: nothing but the annotations of stash rules changes in metadata.
	Metadata Law = "metadata"
	// Validity: a valid object is converted to a valid object.
	Validity Law = "validity"
	// Size: the annotations of stash rules stay below the limit of Kubernetes.
	Size Law = "size"
	// Determinism: equal objects have equal conversions.
	Determinism Law = "determinism"
	// Status: the status is converted like other fields.
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
	index    int        // in its pair
	at       value.Path // in the file
	from, to path       // of move, list, values; from is also the path of stash and drop, to that of cel
	key      string     // of list
	values   [][2]text  // of values, in the order of the file
	maxBytes int64      // of stash
	expr     string     // of cel
	back     []backText
}

// text is a scalar and its position.
type text struct {
	kind value.Kind
	json string
	at   value.Path
}

// shown returns a string without quotes, for errors that quote it.
func (t *text) shown() string {
	plain := t.json
	if t.kind == value.String {
		_ = json.Unmarshal([]byte(t.json), &plain)
	}
	return plain
}

// backText is an expression under back.
type backText struct {
	to   path
	expr string
	at   value.Path
}

// Limits of a file.
const (
	maxPairs      = 100
	maxRules      = 1000 // of a pair
	maxValues     = 10_000
	maxStashBytes = 256 << 10 // the limit of Kubernetes for all annotations of an object
)
