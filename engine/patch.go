package engine

import "github.com/crdeval/crdeval/engine/internal/patch"

// MaxPatchOperations is how many operations a JSON patch may have: an API server refuses more with 413.
const MaxPatchOperations = patch.MaxOperations

// MaxPatchCopies is how many bytes the copy operations of one JSON patch may add: an API server refuses more with 422.
const MaxPatchCopies = patch.MaxCopied

// MaxPatchShifts is how many elements of lists the operations of one JSON patch may move to another index, all together: more is ReasonLimitExceeded. API servers have no
// such bound.
const MaxPatchShifts = patch.MaxShifted

// MaxPatchNesting is how deep the operations of one JSON patch may nest lists and objects that they look into: more is ReasonLimitExceeded. API servers have no such bound, but
// decode nothing that is nearly as deep.
const MaxPatchNesting = patch.MaxNested

// patchTypes are the types as package patch has them.
var patchTypes = map[PatchType]patch.Type{MergePatch: patch.Merge, JSONPatch: patch.JSON}

// patched checks an item that has a patch.
func (i *Item) patched() error {
	invalid := func(text string) error { return &Error{Reason: ReasonInvalidArgument, Message: text} }
	switch {
	case !i.Object.Absent():
		return invalid("there are an object and a patch: the object is the old one with the patch applied, so leave out one of the two")
	case i.Patch.Type != MergePatch && i.Patch.Type != JSONPatch:
		return invalid("unknown type of a patch: it is MergePatch or JSONPatch")
	case i.Patch.Document.Absent():
		return invalid("there is no document in the patch")
	case i.Patch.Document.JSON != nil && i.Patch.Document.YAML != nil:
		return bothSet("patch")
	}
	return nil
}
