package engine

import (
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/violation"
)

// Verdict is what the API server would answer to a write.
type Verdict struct {
	// Allowed is set only if the whole pipeline ran and nothing stood against the object.
	Allowed bool
	// Refusal is the API server's answer to an object that is not allowed, nil otherwise.
	Refusal *Refusal
	// Violations are the findings in document order, then schema order; the members of a YAML document stand in the order of
	// their keys, since an API server makes JSON of it first. Empty for an object that could not be decoded. More than the limits
	// allow are an error and no Verdict.
	Violations []Violation
	// Forgiven are the findings of an update that do not stand against it, each text once: what is found about a value that is
	// what it was, or about the sets and map lists of an object whose old lists were not right either (ratcheting). API servers show
	// those of rules as warnings, which are also among Warnings, and say nothing of the others.
	Forgiven []Violation
	// Traces are what the rules did, as EvaluationOptions.Trace asks, in the order in which they ran; OmittedTraces is how many more there
	// were than MaxTraces.
	Traces        []RuleTrace
	OmittedTraces int
	// Warnings are the texts of the Warning headers the API server would send. Read-only: results share them.
	Warnings []string
	// Pruned are the fields removed because the schema does not know them, topmost only, and unknown fields of metadata: what
	// Warnings or Refusal name one by one. Nulls that were dropped are not among them, as upstream reports them nowhere.
	Pruned []FieldChange
	// Defaulted are the fields filled in, topmost only.
	Defaulted []FieldChange
	// Revision is the CRD's, see Definition.Revision.
	Revision string
}

// Refusal is the part of the metav1.Status that the API server would send.
type Refusal struct {
	// Code is the HTTP status code, 400 or 422 mostly.
	Code int32
	// Reason is the metav1.StatusReason: BadRequest, Invalid.
	Reason string
	// Message is the text of the Status.
	Message string
}

// Transformed is what Prune, Default, Read and Convert made of an object.
type Transformed struct {
	// Object is JSON, in the input's key order with added keys sorted behind. Nil if EvaluationOptions.View leaves it out.
	// It may share memory with the Document given: neither may be written to.
	Object []byte
	// Changed is set if Object means something else than the object given (1.0 that became 1 is a change, white space is not).
	Changed bool
	// Pruned are the fields removed because the schema does not know them, topmost only, and unknown fields of metadata. Nulls
	// that were dropped are not among them, as upstream reports them nowhere.
	Pruned []FieldChange
	// Defaulted are the fields filled in, topmost only.
	Defaulted []FieldChange
	// Warnings are as in Verdict.
	Warnings []string
	// Revision is the CRD's, see Definition.Revision.
	Revision string
}

// FieldChange is one field that was removed or filled in.
type FieldChange struct {
	// Path is upstream's spelling of unknown fields, spec.jobs[0].extra.
	Path string
	// Pointer is the same place as an RFC 6901 pointer, /spec/jobs/0/extra.
	Pointer string
	// Value is the value removed or filled in, as JSON.
	Value []byte
}

// Violation is one finding. Error() is upstream's field.Error text to the letter.
type Violation struct {
	// Type is the field.ErrorType as metav1.CauseType spells it: FieldValueRequired, FieldValueInvalid, ….
	Type string
	// Field is upstream's text for the place, "<nil>" included. It is for people: two places can share one text.
	Field string
	// Message is upstream's field.Error.ErrorBody().
	Message string
	// Detail is upstream's field.Error.Detail, a part of Message.
	Detail string
	// BadValue is the offending value as JSON. Nil where upstream omits it; null and "" are values.
	BadValue []byte
	// Pointer is the place as an RFC 6901 pointer into the object.
	Pointer string
	// SchemaPointer is an RFC 6901 pointer into the version's openAPIV3Schema: the keyword that was violated. Empty for
	// findings that no keyword stands for.
	SchemaPointer string
	// Position is where Pointer stands in the document given; nil if the place is not in it (a missing field has its
	// parent's position).
	Position *Position
	// Rule is the rule that was not satisfied or could not be evaluated, nil for all other findings.
	Rule *RuleRef
	// Step is the step of the pipeline that found it.
	Step Step
}

// RuleRef names a rule of x-kubernetes-validations.
type RuleRef = violation.RuleRef

// Error returns upstream's text: the field, a colon, the message.
func (v Violation) Error() string { return v.Field + ": " + v.Message }

// Position is a place in a document as it was given, YAML or JSON: line and column from 1, columns in code points, and the
// byte offset from 0.
type Position = value.Position

// Step names the step of the pipeline that found something.
type Step = violation.Step

// The steps, in the order in which a write passes them.
const (
	StepDecode   = violation.Decode   // JSON, TypeMeta and ObjectMeta could not be read
	StepRequest  = violation.Request  // the object does not fit the endpoint: version, namespace, name
	StepTypeMeta = violation.TypeMeta // apiVersion and kind
	StepMetadata = violation.Metadata // ObjectMeta
	StepSchema   = violation.Schema   // OpenAPI v3 validation
	StepScale    = violation.Scale    // the fields behind the scale subresource
	StepEmbedded = violation.Embedded // metadata of embedded resources
	StepList     = violation.List     // sets and maps
	StepRule     = violation.Rules    // x-kubernetes-validations
	StepCRD      = violation.CRD      // the CustomResourceDefinition's own rules
)
