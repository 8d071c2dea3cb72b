package engine

import (
	"time"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/patch"
)

// Item is one object to evaluate, with the request that it comes with.
type Item struct {
	// Version is the version of the endpoint: v1. If it is empty, the version is that of the object's apiVersion. With
	// a Version, the object is evaluated as at that endpoint: another apiVersion is rejected, and another kind is a
	// violation.
	Version string
	// Object is the object as the client sent it or, for Read, as storage has it.
	Object Document
	// Patch, for Validate and Admit, replaces Object: the object is OldObject with the patch applied.
	Patch *Patch
	// OldObject makes a Validate or an Admit an update. It is the stored object in any version that the CRD lists, and
	// is read as Read does. An old object that cannot be read, is of another kind, or has another name or namespace
	// than the item, is an error. If it has a uid or a resourceVersion, Admit returns a conflict for an object with
	// another one. Validate only requires a resourceVersion.
	OldObject Document
	// OldDecoded says that OldObject was read from the storage already: it is decoded, defaulted and in the version of
	// the request, as a server holds it. It is used as it is. Another version is an error.
	OldDecoded bool
	// Subresource is "", "status" or "scale". A write to a subresource needs an OldObject. For status, everything but
	// the status is taken from OldObject. For scale, Object is an autoscaling/v1 Scale, and only the replicas are taken
	// from it.
	Subresource string
	// Namespace is the namespace of the request. If it is empty, it is that of the object.
	Namespace string
	// Name is the name of the request, empty for a creation. If it is empty, it is that of the object.
	Name string
	// GeneratedName is, for a creation, the name that the server generated from metadata.generateName. It is used for
	// an object with a generateName and without a name, and returned with it. StageDecode ignores it: API servers
	// generate names after mutating admission.
	GeneratedName string
}

// bytes returns the length of all documents of the item.
func (i *Item) bytes() int {
	n := len(i.Object.JSON) + len(i.Object.YAML) + len(i.OldObject.JSON) + len(i.OldObject.YAML)
	if i.Patch != nil {
		n += len(i.Patch.Document.JSON) + len(i.Patch.Document.YAML)
	}
	return n
}

// Patch is the body of a PATCH request.
type Patch struct {
	Type PatchType
	// Document is an object for MergePatch, a list of operations for JSONPatch.
	Document Document
}

// PatchType is the format of a patch. The zero value is invalid.
type PatchType = patch.Type

// The patch types.
const (
	MergePatch = patch.Merge // RFC 7386, application/merge-patch+json
	JSONPatch  = patch.JSON  // RFC 6902, application/json-patch+json
)

// Bounds of a JSON patch. API servers have the first two, and answer 413 and 422; beyond the others there is a
// LIMIT_EXCEEDED.
const (
	MaxPatchOperations = patch.MaxOperations // operations
	MaxPatchCopies     = patch.MaxCopied     // bytes that copy operations add
	MaxPatchShifts     = patch.MaxShifted    // list elements that all operations together move to another index
	MaxPatchNesting    = patch.MaxNested     // depth of the lists and objects that operations change
)

// FieldValidation is the API server's parameter of that name: how unknown and duplicate fields are handled.
type FieldValidation = admission.FieldValidation

// The values of FieldValidation. The zero value is the API server's default.
const (
	FieldValidationWarn   = admission.Warn   // warn about each of them
	FieldValidationIgnore = admission.Ignore // drop them silently
	FieldValidationStrict = admission.Strict // reject the object
)

// View is how much of an object a result has.
type View uint8

// The values of View.
const (
	ViewFull View = iota // the object
	// ViewChanged is the object, if it differs from the one sent. For StageBody, StageValidate and StageBodyAndValidate
	// there are no Pruned, Defaulted and hints either.
	ViewChanged
	ViewNone // no object; for Validate and Admit also no Pruned, Defaulted and hints, which is fastest
)

// Stage is the part of a write that Admit does. A server with mutating admission calls Admit with StageDecode, runs its
// admission, and calls Admit with StageFinish.
type Stage uint8

// The values of Stage. StageAll is StageDecode followed by StageFinish.
const (
	StageAll Stage = iota
	// StageDecode ends before mutating admission. The body is decoded, patched, coerced and defaulted, its name and
	// namespace are compared with the request's, and the old object is read.
	StageDecode
	// StageFinish begins after mutating admission, with the object that it returned. The object is defaulted again, as
	// if a webhook had changed it, prepared, validated and converted, but not strictly decoded.
	StageFinish
	// StageBody is the part of StageDecode before it matters whether the write is a creation or an update: the body is
	// decoded, coerced and defaulted. All metadata is kept, and is not compared with the request. Unknown and duplicate
	// fields are Verdict.StrictErrors instead of warnings. The Item has no OldObject, Patch, Subresource and
	// GeneratedName.
	StageBody
	// StageValidate is StageFinish without defaults and without the storage, for a server that stores the object itself:
	// the object is prepared and validated, and is neither converted to the storage version nor read back. It keeps
	// resourceVersion and selfLink. Include must be empty. Call Default for an object that admission or server-side apply
	// has changed.
	StageValidate
	// StageBodyAndValidate is StageBody, and reports as Verdict.Valid whether StageValidate would accept the object as it
	// was decoded. A server that does not change the object in between needs no second call. OldObject, OldDecoded,
	// Subresource, Namespace and Name are those of StageValidate. Without OldDecoded, no update is Valid.
	StageBodyAndValidate
)

// PresentationOptions select the parts of a Presentation.
type PresentationOptions struct {
	// SelectableFields selects the values of the selectable fields, TableRow the row of a table, and Scale the subresource
	// scale.
	SelectableFields, TableRow, Scale bool
	// Now is the time that ages in the table row refer to. The zero value is the time of the call.
	Now time.Time
}

// EvaluationOptions change an evaluation. The zero value is the default of the API server.
type EvaluationOptions struct {
	// FieldValidation applies to Validate and Admit.
	FieldValidation FieldValidation
	// View selects how much of the object is returned.
	View View
	// CompleteMetadata completes the metadata of a manifest for the evaluation as a server would: a namespace
	// ("default" unless the item names one), a name generated from generateName, and on update the name, namespace and
	// resourceVersion of the old object, which are completed likewise. It never hides a violation of something that the
	// manifest has.
	CompleteMetadata bool
	// KeepNulls, for Default, keeps nulls in fields that are not nullable and have no default.
	KeepNulls bool
	// AsGiven, for Validate, skips pruning, defaulting and preparation: the object is validated as it is, compared with
	// the old object as it is, unless that has to be converted.
	AsGiven bool
	// Trace selects the rules that Validate and Admit trace.
	Trace TraceMode
	// TargetVersion, for Read and Convert, is the version to convert to. For Read it may be empty.
	TargetVersion string
	// Stage, for Admit, selects a part of the write.
	Stage Stage
	// WithStatus, for Validate and Admit, asks for Verdict.Status.
	WithStatus bool
	// Include, for Admit and Read, asks for a Presentation.
	Include PresentationOptions
}
