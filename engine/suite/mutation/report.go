package mutation

import (
	"encoding/json"
	"fmt"
)

// Status is the result of a mutant.
type Status string

// The statuses.
const (
	// Killed: a test failed with the mutant.
	Killed Status = "killed"
	// Survived: no test failed, and Mutant.Example shows a difference between the mutant and the CRD.
	Survived Status = "survived"
	// Equivalent: no test failed, and no object was found that shows a difference. The mutant can be equivalent to the
	// CRD.
	Equivalent Status = "possibly equivalent"
	// Invalid: an API server rejects the changed CRD.
	Invalid Status = "invalid"
	// NotRun: the limit of mutants or of time was reached.
	NotRun Status = "not run"
)

// Mutant is a changed CRD and its result.
type Mutant struct {
	CRD     string `json:"crd"` // name
	Version string `json:"version"`
	// File and Line are the position of the changed keyword or rule. Line is 0 if it is unknown.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Field is the field whose values the change concerns. [*] is any item or key. "" is the object.
	Field string `json:"field"`
	// SchemaPointer is the JSON pointer of the changed keyword or rule in openAPIV3Schema.
	SchemaPointer string `json:"schemaPointer"`
	// Rule is the original rule, "" for a change of another keyword.
	Rule string `json:"rule,omitempty"`
	// Kind says what changed, such as "maximum moved by +1". Before and After are the changed part.
	Kind   string `json:"kind"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`

	Status Status `json:"status"`
	// Tests is the number of tests that the mutant can affect. KilledBy is the first one that failed.
	Tests    int    `json:"tests"`
	KilledBy string `json:"killedBy,omitempty"`
	// Reason is the reason why the CRD of an invalid mutant is rejected.
	Reason string `json:"reason,omitempty"`
	// Example tells a mutant that survived from the CRD. Tries is the number of objects that were evaluated for it.
	Example *Example `json:"example,omitempty"`
	Tries   int      `json:"tries,omitempty"`
}

// Example is a write for which the CRD and a mutant have different results.
type Example struct {
	Object    json.RawMessage `json:"object"`
	OldObject json.RawMessage `json:"oldObject,omitempty"` // nil for a creation
	// Status says that the write is an update of the status.
	Status bool `json:"status,omitempty"`
	// Original and Mutant are the results with the CRD and the mutant: "allowed", the violations, or the differing part of
	// the resulting object.
	Original string `json:"original"`
	Mutant   string `json:"mutant"`

	// OriginalCRD and MutantCRD are the canonical manifests, as JSON.
	OriginalCRD []byte `json:"-"`
	MutantCRD   []byte `json:"-"`
}

// Score has the numbers of mutants by result.
type Score struct {
	Mutants    int `json:"mutants"`
	Killed     int `json:"killed"`
	Survived   int `json:"survived"`
	Unreached  int `json:"unreached"` // of Survived: no test can be affected
	Equivalent int `json:"possiblyEquivalent"`
	Invalid    int `json:"invalid"`
	NotRun     int `json:"notRun"`
}

func (s *Score) add(m *Mutant) {
	s.Mutants++
	switch m.Status {
	case Killed:
		s.Killed++
	case Survived:
		s.Survived++
		if m.Tests == 0 {
			s.Unreached++
		}
	case Equivalent:
		s.Equivalent++
	case Invalid:
		s.Invalid++
	case NotRun:
		s.NotRun++
	}
}

// Percent returns the killed mutants as a percentage of the killed and the surviving ones, 100 without such mutants.
func (s *Score) Percent() float64 {
	if s.Killed+s.Survived == 0 {
		return 100
	}
	return 100 * float64(s.Killed) / float64(s.Killed+s.Survived)
}

// String returns the score and all numbers on one line.
func (s *Score) String() string {
	text := fmt.Sprintf("score %.1f%%: %d killed, %d survived (%d not covered), %d possibly equivalent, %d invalid",
		s.Percent(), s.Killed, s.Survived, s.Unreached, s.Equivalent, s.Invalid)
	if s.NotRun > 0 {
		text += fmt.Sprintf(", %d not run", s.NotRun)
	}
	return text
}

// Report is the result of Run.
type Report struct {
	// Mutants are ordered by CRD, version and schema.
	Mutants []*Mutant
	Score   Score
	// Tests is the number of tests, counted once for each set of CRDs. Unused is the number of tests that failed with the
	// unchanged CRD. They cannot kill mutants.
	Tests, Unused int
	// Errors are suites that could not run.
	Errors []error
}
