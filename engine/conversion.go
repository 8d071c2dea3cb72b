package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
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
		crd, ok = strings.Clone(stringField(d, root, "crd")), true
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
	if d.conversion == nil {
		return nil, &Error{Reason: ReasonConversionUnavailable, Message: d.Name() + " has no conversion rules: compile it with Options.Conversion"}
	}
	if d.inner.Find(version) == nil {
		return nil, &Error{Reason: ReasonVersionNotFound, Message: fmt.Sprintf("%s has no version %q", d.Name(), version)}
	}
	doc := value.Acquire() // not released by defer: after a panic it must not return to the pool
	doc.StopOn(interrupt.Of(ctx))
	root, err := JSON(object).parse(doc, "object", d.limits)
	if err == nil {
		if dst, err = d.appendConverted(ctx, dst, doc, root, version, whole); err != nil && ctx.Err() != nil {
			err = tooLate(ctx.Err())
		}
	}
	doc.Release()
	return dst, err
}

func (d *Definition) appendConverted(
	ctx context.Context, dst []byte, doc *value.Doc, root uint32, version string, whole bool,
) ([]byte, error) {
	group, from, _ := strings.Cut(stringField(doc, root, "apiVersion"), "/")
	switch {
	case group != d.Group() || d.inner.Find(from) == nil:
		return nil, &Error{Reason: ReasonVersionNotFound, Message: fmt.Sprintf(
			"the apiVersion %q of the object is not one of %s", group+"/"+from, d.Name())}
	case stringField(doc, root, "kind") != d.Kind():
		return nil, &Error{Reason: ReasonObjectUnreadable, Message: fmt.Sprintf(
			"the kind %q of the object is not that of %s", stringField(doc, root, "kind"), d.Name())}
	case from != version:
		if err := d.inner.Rewrite(ctx, doc, root, from, version, whole); err != nil {
			var limit *value.LimitError
			if errors.As(err, &limit) {
				return nil, limitExceeded(err.Error(), limit, err)
			}
			return nil, faultError(err)
		}
	}
	return doc.AppendDecoded(dst, root), nil
}

// compileConversion compiles the rules of o.Conversion for an accepted CRD. The set is nil if the rules have
// violations. Report and set are nil without rules.
func compileConversion(
	ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, o Options, memory *celcheck.Memory,
) (*ConversionReport, *lens.Set, error) {
	if o.Conversion.Absent() {
		return nil, nil, nil
	}
	d := value.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := o.Conversion.parse(d, "conversion rules", o.Limits)
	if err != nil {
		d.Release()
		return nil, nil, err
	}
	f, found := lens.Read(d, root)
	var set *lens.Set
	if f != nil {
		found = misplaced(f, crd)
	}
	if len(found) == 0 {
		versions := make([]lens.Version, len(crd.Spec.Versions))
		for i := range crd.Spec.Versions {
			v := &crd.Spec.Versions[i]
			versions[i] = lens.Version{Name: v.Name, APIVersion: crd.Spec.Group + "/" + v.Name, Schema: schema.Of(v)}
			if versions[i].Schema == nil {
				preserve := true
				versions[i].Schema = &schema.Props{Type: "object", XPreserveUnknownFields: &preserve}
			}
		}
		set, found, err = lens.Compile(ctx, f, versions, memory)
	}
	report := &ConversionReport{Accepted: set != nil}
	for i := range found {
		found[i].Position = d.PositionAt(found[i].Path)
	}
	report.Violations = violations(found)
	d.Release()
	if err != nil {
		return nil, nil, failed(ReasonItemDeadline, "the call ended before the conversion rules were compiled", err)
	}
	if set != nil {
		report.Hub, report.Coverage = set.Hub(), set.Coverage()
		for _, r := range set.Rules() {
			report.Rules = append(report.Rules, ConversionRule{
				Between: r.Between, Index: r.Index, Kind: string(r.Kind), Text: r.Text, Class: r.Class,
				Preconditions: r.Preconditions,
			})
		}
	}
	return report, set, nil
}

// misplaced returns a violation if the rules are for another CRD, or if API servers convert its objects without a
// webhook.
func misplaced(f *lens.File, crd *apiextensionsv1.CustomResourceDefinition) []violation.Violation {
	at := value.Path{value.Name("crd")}
	switch {
	case f.CRD != crd.Name:
		return []violation.Violation{violation.Of(violation.Convert, field.Invalid(field.NewPath("crd"), f.CRD,
			"the rules are for another CRD than "+crd.Name), at)}
	case crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter:
		return []violation.Violation{violation.Of(violation.Convert, field.Forbidden(field.NewPath("crd"), fmt.Sprintf(
			"spec.conversion.strategy of %s is None, so an API server would not call a webhook: set it to Webhook", crd.Name)), at)}
	}
	return nil
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
