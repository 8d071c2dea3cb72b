package laws

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Converter converts objects.
type Converter interface {
	// Convert converts the tree of an object, in place. If whole is false, the object can be a partial object of
	// server-side apply. After an error, the tree is unusable.
	Convert(ctx context.Context, d *tree.Doc, root uint32, from, to string, whole bool) error
	// Normalize removes from the tree of an object what the conversion by the rules of two versions loses by design,
	// unless whole is set also what it loses of a partial object.
	Normalize(d *tree.Doc, root uint32, from, to string, whole bool)
	// Expects reports whether a conversion may make an object invalid at a path.
	Expects(from, to string, at tree.Path) bool
}

// Version is a version of a CRD.
type Version struct {
	Name      string
	Generator *sample.Generator
	// Judge defaults and validates an object of the version. It returns an error if the object cannot be validated.
	Judge func(ctx context.Context, object []byte) (Verdict, error)
}

// Verdict is the result of validating an object.
type Verdict struct {
	// Object is the object with defaults.
	Object []byte
	// Faults are the reasons why the object is invalid.
	Faults []sample.Fault
	// Text describes the first fault, or an unknown field. It is "" for a valid object without unknown fields.
	Text string
}

// Result is the result of testing one law from one version to another.
type Result struct {
	Law      lens.Law
	From, To string
	// Objects is the number of objects to which the law applied.
	Objects int
	// Counterexample is an object that breaks the law, or nil.
	Counterexample *Counterexample
	// Generated is the number of generated valid objects. Unconverted is the number of those whose conversion failed:
	// laws are tested on objects with other values instead. Failure is one of the errors, or "". Only the result of
	// Validity has them.
	Generated, Unconverted int
	Failure                string
}

// Counterexample is a small object that breaks a law.
type Counterexample struct {
	// Text says what is wrong.
	Text string
	// Object is the object. Converted is its conversion, with the change of the law edit; Back is the conversion of that
	// back. Each can be nil.
	Object, Converted, Back []byte
}

// law is a law with its check.
type law struct {
	name lens.Law
	check
}

// check returns whether a law applies to a trial, and a counterexample if the trial breaks the law.
type check func(*tester, *trial) (applies bool, c *Counterexample)

// all returns the laws in the order of the results.
func all() []law {
	return []law{
		{lens.RoundTrip, (*tester).roundTrip}, editLaw: {lens.Edit, (*tester).edit}, {lens.Locality, (*tester).locality},
		{lens.Metadata, (*tester).metadata}, validityLaw: {lens.Validity, (*tester).validity}, sizeLaw: {lens.Size, (*tester).size},
		{lens.Determinism, (*tester).determinism}, {lens.Status, (*tester).status},
	}
}

// The indexes of laws that need additional objects.
const (
	editLaw     = 1
	validityLaw = 4
	sizeLaw     = 5
)
