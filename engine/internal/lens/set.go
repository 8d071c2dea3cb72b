package lens

import (
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Version is a version of a CRD.
type Version struct {
	Name, APIVersion string
	Schema           *schema.Props // of a version without a schema: one that preserves unknown fields
}

// Set is a compiled File. It is immutable and safe for concurrent use.
type Set struct {
	hub      string
	programs map[[2]string]*program // by source and target
	except   map[[2]string][]Law    // by source and target
	rules    []Rule
	size     int64
}

// Rules describes the rules, in the order of the file.
func (s *Set) Rules() []Rule { return s.rules }

// Hub is the version through which conversions go between versions that no pair has, or "".
func (s *Set) Hub() string { return s.hub }

// Pairs returns the source and target of all conversions that the rules have, sorted.
func (s *Set) Pairs() [][2]string {
	return slices.SortedFunc(maps.Keys(s.programs), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
}

// Excepts reports whether the file says that the rules between two versions do not obey a law.
func (s *Set) Excepts(from, to string, law Law) bool {
	return slices.Contains(s.except[[2]string{from, to}], law)
}

// Size returns the bytes that the Set retains.
func (s *Set) Size() int64 {
	if s == nil {
		return 0
	}
	return s.size
}

// Rule describes a rule and what is proved of it.
type Rule struct {
	Between [2]string
	// Index is the index of the rule in those of its pair; -1 for the fields that carry themselves.
	Index int
	Kind  Kind
	// Text shows the paths: spec.host <-> spec.endpoint.host.
	Text  string
	Class Class
	// Preconditions are conditions of the proof: spec.port of v1beta1 is at most 65535.
	Preconditions []string
}

// Class says how much is known of a rule.
type Class string

// The classes. ISO and LENS are proved from the schemas.
const (
	ISO    Class = "ISO"    // nothing is lost in either direction
	Lens   Class = "LENS"   // what is lost is listed in the preconditions
	Tested Class = "TESTED" // expressions: only the tests of the laws say that nothing is lost
)

// Coverage says what becomes of the fields of a version in a conversion. Objects, lists and maps with fields inside do not
// count, only these fields.
type Coverage struct {
	Between [2]string // source and target
	Carried int       // at the same path or another one
	Read    int       // only by expressions
	Stashed int       // kept in the annotation
	Dropped int
}

// Coverage returns the coverage of each pair and direction, in the order of Pairs.
func (s *Set) Coverage() []Coverage {
	all := make([]Coverage, 0, len(s.programs))
	for _, between := range s.Pairs() {
		c := s.programs[between].coverage
		c.Between = between
		all = append(all, c)
	}
	return all
}

// leaves returns the number of fields in a value of a schema, at least 1.
func leaves(p *schema.Props) (n int) {
	for _, name := range schema.Names(p.Properties) {
		n += leaves(step(p, name))
	}
	if items := step(p, each); n == 0 && items != nil {
		n = leaves(items)
	}
	return max(n, 1)
}
