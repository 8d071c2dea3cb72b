// Package distinction is the search for objects that two definitions treat differently, for the packages below engine.
// Package engine implements it.
package distinction

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/value"
)

// Options select the objects that Find looks for. Definitions are of type *engine.Definition.
type Options struct {
	// Version is the version of the objects. Tries bounds the writes that are evaluated, and Seed selects the generated
	// objects.
	Version string
	Tries   int
	Seed    uint64
	// Update looks for an update. Subresource is "", "status" or "scale".
	Update      bool
	Subresource string
	// FieldValidation is how both definitions handle unknown fields.
	FieldValidation admission.FieldValidation
	// Pointers are JSON pointers of keywords in the schemas, of which one is the reason of the rejection.
	Pointers []string
	// Witness is a value, as JSON, that is tried first at the pointers.
	Witness []byte
	// Defaults leaves out values that have a default in one of the two schemas.
	Defaults bool
	// Without, if not nil, is a third definition that must accept the object: the second one without a change.
	Without any
	// Also, if not nil, is a third definition that must reject the object, for any reason.
	Also any
	// Ignored requires that both definitions accept the object, and that the second one does not return a field at one of
	// the pointers.
	Ignored bool
	// Missing, if not "", says why the second definition does not serve the writes of the first one.
	Missing string
	// Counts reports whether a reply has the rejection that an aim looks for. By default, a rejection has this property
	// if one of its violations is at one of Pointers.
	Counts func(*search.Aim, Reply) bool
	// AnyReason accepts every rejection, even if there are Pointers.
	AnyReason bool
}

// Reply is the result of a write.
type Reply interface {
	// Pointers returns the schema pointers of the violations, and Path the path of one of them.
	Pointers() []string
	Path(i int) value.Path
	// IsAt reports whether one of the violations has a schema pointer, or one below it.
	IsAt(pointer string) bool
	// HasUnknown reports whether there are unknown fields, and HasUnknownAt whether one is at a schema pointer or below it.
	HasUnknown() bool
	HasUnknownAt(pointer string) bool
}

// Found is an object that the first definition accepts and the second one rejects.
type Found struct {
	Version, Subresource string
	Object, OldObject    []byte
	// Ignored are the fields that the second definition does not return.
	Ignored []string
	// A and B are the verdicts of the first definition, and of the second one, or of Also if it is set. Alone is then the
	// verdict of the second one. They are of type *engine.Verdict.
	A, B, Alone any
}

// Find looks for an object that the first of two definitions accepts and the second one rejects. It also returns the
// number of tries. Found is nil if there is no such object among them. Package engine sets it when it is initialized.
var Find func(ctx context.Context, a, b any, o *Options) (*Found, int, error)
