package engine

import "github.com/crdeval/crdeval/engine/internal/admission"

// Item is one object to evaluate, and the request it comes with.
type Item struct {
	// Version is the version of the endpoint, v1. Empty: the version in the object's own apiVersion. With a version the
	// object is judged as the API server judges one sent there: another apiVersion is refused, another kind is a finding.
	Version string
	// Object is the object as the client sent it; for Read, as it stands in storage.
	Object Document
	// OldObject makes the item of a Validate an update: the object as it stands in storage, or as a client got it, at any version
	// that the CRD lists. It is read as the API server reads its storage, see Definition.Read. An old object that cannot be read is an
	// error of the item, as is one of another kind, or one whose name or namespace are not those of the request: an API server
	// could not have found it. The resourceVersion is only asked to be there; whether it is the stored one is the storage's business.
	OldObject Document
	// Subresource is "" or "status". A write to a subresource is an update, so it needs an OldObject: all but the status is taken
	// from that.
	Subresource string
	// Namespace is the namespace of the request. Empty: the object's own.
	Namespace string
	// Name is the name of the request, empty for a plain create: the object's own.
	Name string
}

// FieldValidation is the API server's parameter of that name: what becomes of unknown and duplicate fields.
type FieldValidation uint8

// The values of FieldValidation. The zero value is the API server's default.
const (
	FieldValidationWarn   = FieldValidation(admission.Warn)   // a warning for each of them
	FieldValidationIgnore = FieldValidation(admission.Ignore) // dropped silently
	FieldValidationStrict = FieldValidation(admission.Strict) // the object is refused
)

// View says how much of an object a result carries.
type View uint8

// The values of View.
const (
	ViewObject  View = iota // the object
	ViewChanged             // the object, if it differs from the one given
	ViewVerdict             // no object; of Validate the verdict alone, without Pruned and Defaulted: the cheapest answer
)

// EvaluationOptions shape an evaluation. The zero value is what the API server does by default.
type EvaluationOptions struct {
	// FieldValidation applies to Validate.
	FieldValidation FieldValidation
	// View applies to the calls that return an object, and to what Validate tells about changes.
	View View
	// CompleteMetadata fills in, while the object is judged, what a server would have by then and a manifest from a file
	// need not have: a namespace for a namespaced object ("default" unless the item names one), a name generated from
	// generateName; on update name, namespace and resourceVersion of the old object. It never hides a finding about something the
	// caller did write.
	CompleteMetadata bool
	// AsGiven, for Validate: nothing is pruned, defaulted or prepared; the object is judged as it stands, against the old one as it
	// stands (unless that is of another version and has to be converted).
	AsGiven bool
	// Trace asks Validate what the rules did on the way to their answers.
	Trace Trace
	// TargetVersion, for Read and Convert: the version to convert to. Empty, for Read: no conversion.
	TargetVersion string
}
