package lens

import (
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Version is a version of a CRD.
type Version struct {
	Name, APIVersion string
	Schema           *schema.Props // for a version without a schema, one that preserves unknown fields
}

// Set is a compiled File. It is immutable and safe for concurrent use.
type Set struct {
	hub         string
	conversions map[[2]string]*conversion // by source and target
	except      map[[2]string][]Law       // by source and target
	rules       []Rule
	size        int64
}

// Rules returns descriptions of the rules, in the order of the file.
func (s *Set) Rules() []Rule { return s.rules }

// Hints returns the values that rules mention, for the fields that these rules name. Tests of conversions need them.
func (s *Set) Hints() (hints []*sample.Hint) {
	for i := range s.rules {
		r := s.rules[i].compiled
		h := &sample.Hint{}
		h.AddNames(r.from...)
		h.AddNames(r.to...)
		h.AddExpression(r.expr)
		for _, b := range r.back {
			h.AddNames(b.to...)
			h.AddExpression(b.expr)
		}
		for _, v := range r.values {
			h.AddValue(v[0].json)
			h.AddValue(v[1].json)
		}
		hints = append(hints, h)
	}
	return hints
}

// Hub returns the version that conversions between two other versions go through, or "".
func (s *Set) Hub() string { return s.hub }

// Pairs returns the source and target of each compiled conversion, sorted. Conversions through the hub are not
// included.
func (s *Set) Pairs() [][2]string {
	return slices.SortedFunc(maps.Keys(s.conversions), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
}

// Excepts reports whether the file lists a law under except, for the rules between two versions.
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

// Rule describes a rule, and what is proved about it.
type Rule struct {
	Between [2]string
	// Index is the index of the rule in those of its pair; -1 for the fields that both versions have.
	Index int
	Kind  Kind
	// Text shows the paths, such as spec.host <-> spec.endpoint.host.
	Text  string
	Class Class
	// Preconditions are losses, and conditions of the proof such as spec.port of v1beta1 is at most 65535.
	Preconditions []string

	compiled *compiledRule
}

// Class says how much is known of a rule.
type Class string

// The classes. ISO and LENS are proved from the schemas.
const (
	ISO    Class = "ISO"    // nothing is lost in either direction
	Lens   Class = "LENS"   // nothing is lost except what the preconditions list
	Tested Class = "TESTED" // the rule has expressions: only the tests of the laws show whether something is lost
)

// Coverage counts the fields of a version by how a conversion treats them. Objects, lists and maps count only if they
// have no fields inside.
type Coverage struct {
	Between [2]string // source and target
	Carried int       // at the same path or another one
	Read    int       // only by expressions
	Stashed int       // kept in the annotation
	Dropped int
}

// Coverage returns the coverage of each pair and direction, in the order of Pairs.
func (s *Set) Coverage() []Coverage {
	all := make([]Coverage, 0, len(s.conversions))
	for _, between := range s.Pairs() {
		c := s.conversions[between].coverage
		c.Between = between
		all = append(all, c)
	}
	return all
}

// leaves returns the number of fields of a schema as Coverage counts them. It is at least 1.
func leaves(p *schema.Props) (n int) {
	for _, name := range steps(p) {
		n += leaves(step(p, name))
	}
	return max(n, 1)
}
