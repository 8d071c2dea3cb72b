package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/value"
)

// ConversionReport describes conversion rules and how they fit a CRD. docs/conversion.md describes the rules.
type ConversionReport struct {
	// Accepted reports whether the rules have no violations. If they have some, conversions of objects fail.
	Accepted bool
	// Violations of the rules. Their positions refer to the rules.
	Violations []Violation
	// Hub is the version through which conversions go between versions that have no rules of their own, or "".
	Hub string
	// Rules describe the rules, in the order of the file. For each pair of versions, the fields that both have come
	// first, if there are any.
	Rules []ConversionRule
	// Coverage counts fields by how they are converted, for each pair of versions and direction.
	Coverage []ConversionCoverage
	// Laws are the results of Definition.TestConversion. Compile and Check do not run it.
	Laws []ConversionLaw
}

// ConversionRule describes one conversion rule.
type ConversionRule struct {
	// Between are the two versions.
	Between [2]string
	// Index is the index of the rule in the rules of the two versions; -1 for the fields that both have.
	Index int
	// Kind is the kind of the rule: move, list, values, cel, stash, drop; equal for the fields that both versions have.
	Kind string
	// Text shows the paths, such as spec.host <-> spec.endpoint.host.
	Text string
	// Class says how much is known of the rule.
	Class ConversionClass
	// Preconditions are what the rule loses, and conditions that values must meet, such as spec.port of v1 is at most
	// 65535. Conversions check most conditions, and fail if a value does not meet one.
	Preconditions []string
}

// ConversionCoverage counts the fields of the version Between[0] by how a conversion to Between[1] treats them:
// carried (copied), read by expressions only, stashed in the annotation, or dropped.
type ConversionCoverage = lens.Coverage

// ConversionClass says how much is known of a conversion rule.
type ConversionClass = lens.Class

// The classes. The first two are proved from the schemas.
const (
	ConversionISO    = lens.ISO    // nothing is lost in either direction
	ConversionLens   = lens.Lens   // nothing is lost except what the preconditions list
	ConversionTested = lens.Tested // the rule has expressions: TestConversion shows whether something is lost
)

// IsConversion reports whether a document contains conversion rules: an object with the field crd and without kind and
// apiVersion. It returns the value of crd. The error is an *Error if the document cannot be read.
func IsConversion(doc Document, l Limits) (crd string, ok bool, err error) {
	defer Recover(&err)
	d := value.Acquire()
	root, err := doc.parse(d, "document", l)
	if err == nil && lens.IsFile(d, root) {
		crd, ok = strings.Clone(compiled.StringField(d, root, "crd")), true
	}
	d.Release()
	return crd, ok, err
}

// Conversion returns the report about the rules in Options.Conversion, or nil without rules. The caller must not
// modify it.
func (d *Definition) Conversion() *ConversionReport { return d.conversion }

// AppendConverted converts a JSON object to a version by the rules of Options.Conversion and appends it to dst. Like a
// conversion webhook, it neither coerces the object to the schema of the version nor validates it. If whole is false,
// the object can be a partial object of server-side apply. Constants and defaults of expressions are then omitted,
// unless metadata.managedFields shows that the object is whole. If the rules do not convert the object, the error is
// an *Error with ReasonConversionFailed, and names the object, the rule and the value.
func (d *Definition) AppendConverted(ctx context.Context, dst, object []byte, version string, whole bool) (_ []byte, err error) {
	defer Recover(&err)
	if d.compiled.Conversion == nil {
		return nil, &Error{Reason: ReasonConversionUnavailable, Message: d.Name() + " has no conversion rules: compile it with Options.Conversion"}
	}
	if d.compiled.Inner.Find(version) == nil {
		return nil, &Error{Reason: ReasonVersionNotFound, Message: fmt.Sprintf("%s has no version %q", d.Name(), version)}
	}
	doc := value.Acquire() // not released by defer: after a panic it must not return to the pool
	doc.StopOn(interrupt.Of(ctx))
	root, err := JSON(object).parse(doc, "object", d.compiled.Limits)
	if err == nil {
		if dst, err = d.appendConverted(ctx, dst, doc, root, version, whole); err != nil && ctx.Err() != nil {
			err = compiled.TooLate(ctx.Err())
		}
	}
	doc.Release()
	return dst, err
}

func (d *Definition) appendConverted(
	ctx context.Context, dst []byte, doc *value.Doc, root uint32, version string, whole bool,
) ([]byte, error) {
	group, from, _ := strings.Cut(compiled.StringField(doc, root, "apiVersion"), "/")
	switch {
	case group != d.Group() || d.compiled.Inner.Find(from) == nil:
		return nil, &Error{Reason: ReasonVersionNotFound, Message: fmt.Sprintf(
			"the apiVersion %q of the object is not one of %s", group+"/"+from, d.Name())}
	case compiled.StringField(doc, root, "kind") != d.Kind():
		return nil, &Error{Reason: ReasonObjectUnreadable, Message: fmt.Sprintf(
			"the kind %q of the object is not that of %s", compiled.StringField(doc, root, "kind"), d.Name())}
	case from != version:
		if err := d.compiled.Inner.Rewrite(ctx, doc, root, from, version, whole); err != nil {
			var limit *value.LimitError
			if errors.As(err, &limit) {
				return nil, limitExceeded(err.Error(), limit, err)
			}
			return nil, faultError(err)
		}
	}
	return doc.AppendDecoded(dst, root), nil
}

// conversionReport returns the public form of compiled rules, nil for nil.
func conversionReport(c *compiled.Conversion) *ConversionReport {
	if c == nil {
		return nil
	}
	report := &ConversionReport{Accepted: c.Lenses != nil, Violations: violations(c.Violations)}
	if set := c.Lenses; set != nil {
		report.Hub, report.Coverage = set.Hub(), set.Coverage()
		for _, r := range set.Rules() {
			report.Rules = append(report.Rules, ConversionRule{
				Between: r.Between, Index: r.Index, Kind: string(r.Kind), Text: r.Text, Class: r.Class,
				Preconditions: r.Preconditions,
			})
		}
	}
	return report
}

// ConversionLaw is the result of testing one law on generated objects.
type ConversionLaw struct {
	// Law is the name of the law. docs/conversion.md describes the laws.
	Law string
	// Between is the version of the objects, and the version that they are converted to.
	Between [2]string
	// Objects is the number of objects that the law was tested on.
	Objects int
	// Counterexample is an object that breaks the law, or nil.
	Counterexample *Counterexample
	// Excepted reports whether the rules list the law under except.
	Excepted bool
	// Generated is the number of generated objects. Unconverted is the number of those that could not be converted, such
	// as objects that do not meet a precondition: the laws were tested on objects with other values instead. Failure is the
	// error of one of these conversions, or "". They are set for the law validity, and count for all laws.
	Generated, Unconverted int
	Failure                string
}

// Counterexample is a small object that breaks a law of conversions.
type Counterexample struct {
	// Text says what is wrong.
	Text string
	// Object is the object, Converted its conversion and Back the conversion back, as JSON, or nil.
	Object, Converted, Back []byte
}
