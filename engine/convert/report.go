package convert

import (
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/lens"
)

// Report describes conversion rules and how they fit a CRD.
type Report struct {
	// Accepted reports whether the rules have no violations. If they have some, conversions of objects fail.
	Accepted bool
	// Violations of the rules. Their positions refer to the rules.
	Violations []engine.Violation
	// Hub is the version through which conversions go between versions that have no rules of their own, or "".
	Hub string
	// Rules describe the rules, in the order of the file. For each pair of versions, the fields that both have come
	// first, if there are any.
	Rules []Rule
	// Coverage counts fields by how they are converted, for each pair of versions and direction.
	Coverage []Coverage
	// Laws are the results of Test. ReportOf does not run it.
	Laws []Law
}

// Rule describes one conversion rule.
type Rule struct {
	// Between are the two versions.
	Between [2]string
	// Index is the index of the rule in the rules of the two versions; -1 for the fields that both have.
	Index int
	// Kind is the kind of the rule: move, list, values, cel, stash, drop; equal for the fields that both versions have.
	Kind string
	// Text shows the paths, such as spec.host <-> spec.endpoint.host.
	Text string
	// Class says how much is known of the rule.
	Class Class
	// Preconditions are what the rule loses, and conditions that values must meet, such as spec.port of v1 is at most
	// 65535. Conversions check most conditions, and fail if a value does not meet one.
	Preconditions []string
}

// Coverage counts the fields of a version by how a conversion treats them. Between [2]string are the source and the
// target version. The counts are ints: fields that are Carried (copied to the same or another path), Read by
// expressions only, Stashed in the annotation, or Dropped.
type Coverage = lens.Coverage

// Class says how much is known of a conversion rule.
type Class = lens.Class

// The classes. The first two are proved from the schemas.
const (
	ISO    = lens.ISO    // nothing is lost in either direction
	Lens   = lens.Lens   // nothing is lost except what the preconditions list
	Tested = lens.Tested // the rule has expressions: Test shows whether something is lost
)

// ReportOf returns the report about the rules in engine.Options.Conversion with which a manifest was checked, or a
// Definition was compiled. It is nil without rules, and for a rejected CRD.
func ReportOf[T *engine.Report | *engine.Definition](of T) *Report {
	return newReport(compiled.ConversionOf(of))
}

// IsDeclared reports whether a CRD was compiled with rules, accepted or not.
func IsDeclared(d *engine.Definition) bool { return compiled.ConversionOf(d) != nil }

func newReport(c *compiled.Conversion) *Report {
	if c == nil {
		return nil
	}
	r := &Report{Accepted: c.Lenses != nil}
	r.Violations, _ = compiled.Violations(c.Violations).([]engine.Violation)
	if set := c.Lenses; set != nil {
		r.Hub, r.Coverage = set.Hub(), set.Coverage()
		for _, rule := range set.Rules() {
			r.Rules = append(r.Rules, Rule{
				Between: rule.Between, Index: rule.Index, Kind: string(rule.Kind), Text: rule.Text, Class: rule.Class,
				Preconditions: rule.Preconditions,
			})
		}
	}
	return r
}
