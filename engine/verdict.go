package engine

import (
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// Verdict is what the API server would answer to a write.
type Verdict struct {
	// Allowed is set only if the whole pipeline ran and nothing stood against the object.
	Allowed bool
	// Refusal is the API server's answer to an object that is not allowed, nil otherwise.
	Rejection *Rejection
	// Violations are the findings in document order, then schema order; the members of a YAML document stand in the order of
	// their keys, since an API server makes JSON of it first. Empty for an object that could not be decoded. More than the limits
	// allow are an error and no Verdict.
	Violations []Violation
	// Forgiven are the findings of an update that do not stand against it, each text once: what is found about a value that is
	// what it was, or about the sets and map lists of an object whose old lists were not right either (ratcheting). API servers show
	// those of rules as warnings, which are also among Warnings, and say nothing of the others.
	Ratcheted []Violation
	// Traces are what the rules did, as EvaluationOptions.Trace asks, in the order in which they ran; OmittedTraces is how many more there
	// were than MaxTraces, or than 4 MiB of their places.
	Traces        []RuleTrace
	OmittedTraces int
	// Warnings are the texts of the Warning headers the API server would send. Read-only: results share them.
	Warnings []string
	// Pruned are the fields removed because the schema does not know them, topmost only, and unknown fields of metadata: what
	// Warnings or Refusal name one by one. Nulls that were dropped are not among them, as upstream reports them nowhere.
	Pruned []FieldChange
	// Defaulted are the fields filled in, topmost only.
	Defaulted []FieldChange
	// Object, of Admit, is what the client is answered: StoredObject as it is read back from storage, at the request's version. For a write
	// to scale it is the Scale; of StageDecode the object as mutating admission gets it. JSON, in the input's key order with added keys sorted
	// behind; nil if the write is refused or the View leaves it out. It may share memory with the documents given: neither may be written to.
	Object []byte
	// StoredObject, of Admit, is what is given to the storage, at the storage version; nil if that is the same JSON value as Object, and where
	// there is no Object.
	StoredObject []byte
	// OldObject, of StageDecode, is the old object at the request's version, as mutating admission gets it.
	OldObject []byte
	// Deletes, of Admit: the update takes the last finalizer off an object that waits to be deleted, so the API server deletes it. Object is
	// what the client is answered all the same; nothing is stored.
	Deletes bool
	// Status, if EvaluationOptions.WithStatus asks for it, is the metav1.Status of the refusal as JSON, as kubectl is sent it.
	Status []byte
	// Presented is what EvaluationOptions.Include asks for, nil if that is nothing or the write is refused.
	Presentation *Presentation
	// Revision is the CRD's, see Definition.Revision.
	Revision string
}

// Presented is how an API server shows an object: the object of an Admit's or a Read's answer, at that version.
type Presentation struct {
	// SelectableFields are what field selectors see, in the order of Definition.SelectableFields.
	SelectableFields []SelectableField
	// TableRow is a meta.k8s.io/v1 TableRow as JSON, without the object.
	TableRow []byte
	// Scale is the autoscaling/v1 Scale as JSON; nil if the version has no scale subresource.
	Scale []byte
}

// SelectableField is one field that field selectors may name, and what it is of an object.
type SelectableField struct {
	// Field is as selectors write it: metadata.name, spec.color.
	Field string
	// Value is its text; empty for a field that is absent.
	Value string
}

// Hint is what crdeval adds to a finding of upstream's: what was probably meant.
type Hint struct {
	// Text is a sentence for people.
	Text string
	// Pointer is the place that is meant, as an RFC 6901 pointer into the object; empty if the hint is about no other place.
	Pointer string
	// Replacement is the value that is meant, as JSON; nil if the hint is about none.
	Replacement []byte
}

// Refusal is the part of the metav1.Status that the API server would send.
type Rejection struct {
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
	// Presented is what EvaluationOptions.Include asks of a Read; nil otherwise.
	Presentation *Presentation
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
	// Position is where a removed field stands in the document given; nil for a field filled in, and where it is not known.
	Position *Position
	// Hint says what was probably meant, of a removed field; nil mostly.
	Hint *Hint
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
	// Hint says what was probably meant; nil mostly.
	Hint *Hint
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
