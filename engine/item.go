package engine

import (
	"time"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// Item is one object to evaluate, and the request it comes with.
type Item struct {
	// Version is the version of the endpoint, v1. Empty: the version in the object's own apiVersion. With a version the
	// object is judged as the API server judges one sent there: another apiVersion is refused, another kind is a finding.
	Version string
	// Object is the object as the client sent it; for Read, as it stands in storage.
	Object Document
	// Patch, for Validate and Admit, takes the place of Object: the object is OldObject with the patch applied. Nil: there is none.
	Patch *Patch
	// OldObject makes the item of a Validate or an Admit an update: the object as it stands in storage, or as a client got it, at any version
	// that the CRD lists. It is read as the API server reads its storage, see Definition.Read. An old object that cannot be read is an
	// error of the item, as is one of another kind, or one whose name or namespace are not those that the item gives: an API server
	// could not have found it. Where it says its uid or its resourceVersion, an object with another one is a conflict to Admit; bytes of a
	// storage mostly do not say the latter, and then only the storage knows. Validate only asks for a resourceVersion to be there.
	OldObject Document
	// Subresource is "", "status" or "scale". A write to a subresource is an update, so it needs an OldObject. Of status, all but the status is
	// taken from that; of scale, Object is an autoscaling/v1 Scale, and all but the replicas is taken from OldObject.
	Subresource string
	// Namespace is the namespace of the request. Empty: the object's own.
	Namespace string
	// Name is the name of the request, empty for a plain create: the object's own.
	Name string
	// GeneratedName is, for a creation, the name that the server generated from metadata.generateName. An object that has a
	// generateName and no name is evaluated under it, and is answered with it. Others are not changed. Stage Decode does not
	// use it: API servers generate names after mutating admission.
	GeneratedName string
}

// bytes is the length of all documents of the item.
func (i *Item) bytes() int {
	n := len(i.Object.JSON) + len(i.Object.YAML) + len(i.OldObject.JSON) + len(i.OldObject.YAML)
	if i.Patch != nil {
		n += len(i.Patch.Document.JSON) + len(i.Patch.Document.YAML)
	}
	return n
}

// Patch is a change to an object, as a client sends it with PATCH.
type Patch struct {
	Type PatchType
	// Document is the patch: an object for MergePatch, a list of operations for JSONPatch.
	Document Document
}

// PatchType says how a patch is to be read. The zero value is none: a patch has no meaning without its type.
type PatchType uint8

// The values of PatchType.
const (
	MergePatch PatchType = iota + 1 // RFC 7386, application/merge-patch+json
	JSONPatch                       // RFC 6902, application/json-patch+json
)

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
	ViewFull    View = iota // the object
	ViewChanged             // the object, if it differs from the one given
	ViewNone                // no object; of Validate and Admit the verdict alone, without Pruned, Defaulted and hints: the cheapest answer
)

// Stage says which part of a write Admit does. A server with mutating admission of its own calls twice: DECODE, its own, FINISH.
type Stage uint8

// The values of Stage. WHOLE is DECODE and FINISH on what that answered.
const (
	StageAll Stage = iota
	// StageDecode stops where mutating admission begins: the body is decoded, coerced and defaulted (a patch applied), its name and namespace
	// matched with the request's; the old object is read.
	StageDecode
	// StageFinish starts there, with the object that StageDecode answered and mutating admission may have changed and stamped (uid, times,
	// managedFields): it is defaulted again, prepared, validated and converted, but not decoded strictly.
	StageFinish
)

// Include says what of the object's presentation Admit and Read answer beside the object, see Presented.
type PresentationOptions struct {
	SelectableFields, TableRow, Scale bool
	// Now is the time that ages in a table row are counted to; the zero time is the time of the call.
	Now time.Time
}

// EvaluationOptions shape an evaluation. The zero value is what the API server does by default.
type EvaluationOptions struct {
	// FieldValidation applies to Validate and Admit.
	FieldValidation FieldValidation
	// View applies to the calls that return an object, and to what Validate and Admit tell about changes.
	View View
	// CompleteMetadata fills in, while the object is judged, what a server would have by then and a manifest from a file
	// need not have: a namespace for a namespaced object ("default" unless the item names one), a name generated from
	// generateName; on update name, namespace and resourceVersion of the old object, which may be a manifest, too: what it lacks of
	// namespace and resourceVersion is filled in likewise. It never hides a finding about something the caller did write.
	CompleteMetadata bool
	// AsGiven, for Validate: nothing is pruned, defaulted or prepared; the object is judged as it stands, against the old one as it
	// stands (unless that is of another version and has to be converted).
	AsGiven bool
	// Trace asks Validate and Admit what the rules did on the way to their answers.
	Trace TraceMode
	// TargetVersion, for Read and Convert: the version to convert to. Empty, for Read: no conversion.
	TargetVersion string
	// Stage, for Admit: which part of the write.
	Stage Stage
	// WithStatus, for Validate and Admit, asks for Verdict.Status.
	WithStatus bool
	// Include, for Admit and Read, asks for Presented.
	Include PresentationOptions
}
