package admission

import (
	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/rules"
)

// FieldValidation is the API server's parameter of that name: how unknown and duplicate fields are handled.
type FieldValidation uint8

// The values of FieldValidation.
const (
	Warn FieldValidation = iota
	Ignore
	Strict
)

// Stage is a part of a write.
type Stage uint8

// The values of Stage.
const (
	StageWhole  Stage = iota
	StageDecode       // up to mutating admission
	StageFinish       // after mutating admission; the body is decoded and possibly mutated
)

// Request is one object and the options of its evaluation.
type Request struct {
	// Version is the version of the endpoint. If empty, it is that of the object.
	Version string
	// Body is the object as JSON, or as YAML if YAML is set.
	Body   []byte
	YAML   bool
	Origin *tree.Origin // of a Body that is a part of a text, or nil
	Limits tree.Limits
	// FieldValidation applies to creations and updates.
	FieldValidation FieldValidation
	// Namespace and Name are those of the request's URL, or empty.
	Namespace, Name string
	// GeneratedName becomes the name of an object that is created with a generateName and without a name.
	GeneratedName string
	// Target is the version to convert to.
	Target string
	// Decoded says that the body was read from the storage already: at its own version, Read need not set defaults.
	Decoded bool
	// Old is the stored object that an update replaces, as JSON, or as YAML if OldYAML is set.
	Old       []byte
	OldYAML   bool
	OldOrigin *tree.Origin
	// OldDecoded says that Old was read from the storage already: it is used as it is, at the request's version.
	OldDecoded bool
	// Status and Scale mark updates of these subresources. The body of a scale update is a Scale.
	Status, Scale bool
	// Patch is the type of a Body that is a patch of the old object or of its Scale, else 0.
	Patch patch.Type

	// Stage is the part of the write that Admit does.
	Stage Stage
	// Defaulted says that the body of StageFinish has its defaults: none are set.
	Defaulted bool
	// Then has the options with which Admit of StageDecode also validates the decoded object, on the fast path only.
	Then *Request

	// KeepNulls makes Default keep nulls of fields that are not nullable and have no default.
	KeepNulls bool
	// AsGiven validates the object without changing it.
	AsGiven bool
	// CompleteMetadata fills in a namespace and a generated name for the time of the evaluation.
	CompleteMetadata bool
	// Handler adds the steps of the request handler around decoding: it checks the namespace and deduplicates owner
	// references. Without it, a creation is decoding, PrepareForCreate and ValidateCreate.
	Handler bool
	// Whole adds the steps about metadata that only a server sets: it is removed from creations, and uid and
	// resourceVersion are preconditions of updates. Whole requires Handler.
	Whole bool
	// Patched marks a body that a patch made of Old. Its uid is not a precondition.
	Patched bool
	// SkipMetadata skips the validation of ObjectMeta, but not its coercion. Benchmarks use it.
	SkipMetadata bool
	// StrictApart keeps the errors of strict decoding out of Outcome.Warnings.
	StrictApart bool
	// Exact skips the fast path.
	Exact bool
	// NoClosures evaluates every rule with cel-go. The result is the same.
	NoClosures bool
	// Trace asks for Outcome.Traces.
	Trace rules.TraceMode
	// WantStatus asks for Rejection.Details with all causes.
	WantStatus bool
	// WantObject asks for Outcome.Object, WantChanged for Outcome.Changed, WantChanges for Outcome.Pruned and
	// Outcome.Defaulted.
	WantObject, WantChanged, WantChanges bool
	// Show is called with the object that Admit or Read returns, at its version, nil for an object of another kind. The
	// tree is invalid after it returns.
	Show func(*Version, Tree)
}

// withoutOutput returns the request without the parts of an Outcome that it asks for, besides WantChanges.
func (r Request) withoutOutput() Request {
	r.Trace, r.WantStatus, r.WantObject, r.WantChanged, r.Show = 0, false, false, false, nil
	return r
}

// Outcome is the result of an evaluation.
type Outcome struct {
	// Rejection is set if the object is rejected, before validation or for its violations.
	Rejection *Rejection
	// Violations are why, in document order. There is at least one if there is a Rejection.
	Violations []violation.Violation
	// Next are the violations that remain of a whole write once the errors of strict decoding that reject it are fixed.
	Next []violation.Violation
	// Traces are those that Request.Trace asks for. OmittedTraces counts those beyond the limit.
	Traces        []rules.Trace
	OmittedTraces int
	// Ratcheted are violations of an update that do not reject it, since the value is unchanged.
	Ratcheted []violation.Violation
	// Strict are the errors of strict decoding: duplicate fields, then unknown ones.
	Strict []StrictError
	// Unknown are the paths of unknown fields that Judge finds.
	Unknown []string
	// Warnings are those of the version, of Strict (but not with StrictApart), of the handler and of the strategy, in that
	// order, without duplicates.
	Warnings []violation.Warning
	// Object is the object as JSON at the request's version, without the fields that a server sets. Create and Update
	// return it as the strategy leaves it; Admit returns it as it is read back from storage, or as the strategy leaves
	// it if the write deletes it. Stage DECODE returns the input of mutating admission.
	Object []byte
	// Stored is what Admit gives to the storage. It is nil if it is the same JSON value as Object, or if nothing is
	// stored.
	Stored []byte
	// Old is the old object of an update in stage DECODE.
	Old []byte
	// Unchanged says that the update stores what is stored already. For an OldDecoded, it compares the objects at the
	// request's version.
	Unchanged bool
	// ReadsAsWritten says, for a write without the storage, that the storage version is that of the request, and that
	// reading the object back from storage leaves it unchanged, besides the fields that the storage sets.
	ReadsAsWritten bool
	// Valid says that the decoded object is valid according to Request.Then. Then Warnings and ReadsAsWritten are those of
	// that validation.
	Valid bool
	// Deletes says that the update deletes the object.
	Deletes bool
	// Changed says that Object differs from the body.
	Changed bool
	// Pruned and Defaulted are the fields that were removed as unknown and filled in, without the defaults of a status
	// that the strategy drops.
	Pruned, Defaulted []Change
	// OmittedChanges counts the changes beyond Limits.MaxViolations and Limits.MaxViolationBytes.
	OmittedChanges int
	// Exact says that the exact path was used.
	Exact bool
	// Version is the version of the endpoint, or nil if the object could not be read.
	Version *Version
}

// Change is one field that was removed or filled in, with its value as JSON.
type Change struct {
	Path    tree.Path
	Text    string // upstream's text of the path
	Pointer string // the path as an RFC 6901 pointer
	Value   []byte
	// Position is that of a removed field's key in the body, or the zero Position.
	Position tree.Position
	// Hint says what a removed field probably meant, nil if unknown.
	Hint *violation.Hint
}
