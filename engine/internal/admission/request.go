package admission

import (
	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// FieldValidation is the API server's parameter: what becomes of unknown and duplicate fields.
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
	StageDecode       // up to where mutating admission begins
	StageFinish       // from there on: the body was decoded before, and may have been changed since
)

// Request is one object and what is asked about it.
type Request struct {
	// Version is the endpoint's; empty: the object's own.
	Version string
	// Body is the object. YAML says that it is YAML.
	Body   []byte
	YAML   bool
	Limits value.Limits
	// FieldValidation applies to creates and updates.
	FieldValidation FieldValidation
	// Namespace and Name are the request's; empty means that the request says nothing about them.
	Namespace, Name string
	// GeneratedName becomes the name of an object that is created with a generateName and without a name.
	GeneratedName string
	// Target is the version to convert to.
	Target string
	// Old is the object of an update as it stands in storage. OldYAML says that it is YAML.
	Old     []byte
	OldYAML bool
	// Status: the update is one of the status subresource. Scale: it is one of the scale subresource, and the body a Scale.
	Status, Scale bool
	// Patch says that the body is a patch of the old object, or of its Scale, and of which type; 0: it is none.
	Patch patch.Type

	// Stage is the part of the write that Admit does.
	Stage Stage

	// AsGiven judges the object as it stands: nothing is coerced, pruned, defaulted or prepared.
	AsGiven bool
	// CompleteMetadata fills in a namespace and a generated name while the object is judged.
	CompleteMetadata bool
	// Handler adds what the request handler does around decoding: namespaces are matched, owner references deduplicated.
	// Without it a create is decode, PrepareForCreate and ValidateCreate alone.
	Handler bool
	// Whole adds what else an API server does about metadata that only a server may set: of a creation it is wiped, of an update uid and
	// resourceVersion are preconditions. It goes with Handler.
	Whole bool
	// Patched: a patch made the body of Old, so its uid is no precondition.
	Patched bool
	// SkipMetadata sets the validation of ObjectMeta aside (not its coercion): what benchmarks call structural.
	SkipMetadata bool
	// Exact takes the exact way at once.
	Exact bool
	// NoClosures replays every rule on cel-go: the answer is the same, and slow.
	NoClosures bool
	// Trace asks for Outcome.Traces.
	Trace rule.Tracing
	// WantStatus asks for Refusal.Details with all causes.
	WantStatus bool
	// WantObject asks for Outcome.Object, WantChanged for Outcome.Changed, WantChanges for Outcome.Pruned and Outcome.Defaulted.
	WantObject, WantChanged, WantChanges bool
	// Show, if it is set, is shown the object that Admit or Read answers, at its version. Nothing of the tree may be used after it returned.
	Show func(*Version, Tree)
	// Buffer is appended to for Outcome.Object; nil allocates.
	Buffer []byte
}

// Outcome is the answer.
type Outcome struct {
	// Refusal is set if the request ended before validation, or by its findings.
	Refusal *Refusal
	// Violations are the findings.
	Violations []Finding
	// Traces are those of the rules that Request.Trace asks for, OmittedTraces how many more there were than room.
	Traces        []rule.Trace
	OmittedTraces int
	// Forgiven are the findings of an update that do not stand against it, since what they are about is as it was.
	Forgiven []Finding
	// Strict are the texts of the strict decoder: duplicate fields, then unknown ones.
	Strict []string
	// Warnings are those of the version, of Strict, of the handler and of the strategy, in that order, each text once.
	Warnings []string
	// Object is the object as JSON, in the request's version, before any stamp that only a server can give: as the strategy leaves it, and of
	// Admit as it is read back from storage, or if the write deletes it as the strategy leaves it. Of StageDecode it is what mutating admission gets.
	Object []byte
	// Stored is, of Admit, what is given to the storage; nil if that is the same JSON value as Object, and if nothing is stored.
	Stored []byte
	// Old is the old object of an update, of StageDecode alone.
	Old []byte
	// Deletes: the update has the object deleted.
	Deletes bool
	// Changed: Object means something else than the body.
	Changed bool
	// Pruned and Defaulted are what was removed as unknown and what was filled in; of a create without the defaults in a status
	// that the strategy drops.
	Pruned, Defaulted []Change
	// Explained: the exact way was taken.
	Explained bool
	// Version is the endpoint that was resolved, nil if the object could not be read as far as that.
	Version *Version
}

// Finding is a violation that has left its Doc, with its place in the text.
type Finding struct {
	violation.Violation
	// Position is the zero Position if the place is not in the text.
	Position value.Position
}

// Change is one field that was removed or filled in, its value as JSON.
type Change struct {
	Path    value.Path
	Text    string // the path as upstream writes it
	Pointer string // the path as an RFC 6901 pointer
	Value   []byte
	// Position is where the key of a removed field stands in the body; the zero Position if it is not there.
	Position value.Position
}
