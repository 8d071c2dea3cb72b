package engine

import (
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/selector"
	"github.com/crdeval/crdeval/engine/rules"
)

// Verdict is the API server's answer to a write.
type Verdict struct {
	// Allowed reports whether the write is accepted.
	Allowed bool
	// Rejection is the API server's answer to a write that is not accepted, nil otherwise.
	Rejection *Rejection
	// Violations have the order of the API server's steps, which Violation.Step names. Within a step, the
	// members and elements of a value are in document order; the value's own violations come before or after theirs. In a
	// YAML document, members are ordered by key, since an API server converts it to JSON first. A rejected write has at
	// least one violation, of a Type of upstream or of this package. More violations than the limits allow are an Error,
	// except for unknown and duplicate fields, of which Rejection then has more.
	Violations []Violation
	// Next are the violations that remain once the unknown and duplicate fields are fixed for which strict decoding
	// rejects the object. The Rejection does not have them. It is empty without such a rejection, for a part of a write,
	// and for an update that may need a conversion webhook.
	Next []Violation
	// Ratcheted are the violations of an update that do not reject it, without duplicates: violations of values that
	// did not change, and of sets and map lists if a list of the old object was already invalid. API servers return
	// those of rules as warnings, which Warnings has as well, and do not report the others.
	Ratcheted []Violation
	// Traces are the traces of rules in the order of evaluation. OmittedTraces counts those beyond rules.MaxTraces, or beyond
	// 4 MiB of paths.
	Traces        []rules.Trace
	OmittedTraces int
	// Warnings are those that an API server sends as Warning headers, and crdeval's own: see Warning.Type.
	Warnings []Warning
	// Pruned are the removed fields that the schema does not declare, and unknown fields of metadata. Fields below a
	// removed field are not listed. Of dropped nulls, only those that a conversion to another version drops are listed.
	Pruned []FieldChange
	// Defaulted are the fields that were filled in. Fields below such a field are not listed.
	Defaulted []FieldChange
	// OmittedChanges counts the elements of Pruned and Defaulted that are left out, because they exceed
	// Limits.MaxViolations, or their texts and values Limits.MaxViolationBytes.
	OmittedChanges int
	// Object, for Admit, is the answer to the client: StoredObject as it is read from storage, in the version of the
	// request. For a write to scale it is the Scale; for Decode it is what mutating admission receives. It is JSON
	// without white space, in the key order of the input, with new keys sorted at the end. It is nil for a rejected
	// write, and if the View excludes it. It may share memory with the documents of the write. It has no
	// metadata.resourceVersion and no selfLink, which the storage sets, except for Decode and if Deletes is set.
	Object []byte
	// StoredObject, for Admit, is the object in the storage version. It is nil if it is the same JSON value as Object,
	// without Object.
	StoredObject []byte
	// OldObject, for Decode, is the old object in the version of the request, as mutating admission receives it.
	OldObject []byte
	// Unchanged, for Admit, reports that the update stores what is stored already, so that an API server does not write
	// it: the resourceVersion stays the same. With Update.OldDecoded, the stored bytes are unknown: then it reports that
	// the update changes nothing in the version of the request. Differences of resourceVersion and selfLink do not
	// count, nor do those of the order of keys.
	Unchanged bool
	// Deletes, for Admit, reports that the update removes the last finalizer of an object that is being deleted: the
	// API server deletes it instead of storing it. Object is still the answer.
	Deletes bool
	// Status is the metav1.Status of the rejection as JSON, if the options have WithStatus.
	Status []byte
	// Presentation is what AdmitOptions.Include asks for. It is nil for a rejected write.
	Presentation *Presentation
	// Revision is Definition.Revision.
	Revision string
}

// Transformed is the result of Prune, Default, Read and Convert. As on an API server, an object of the CRD's group with
// another kind is neither pruned nor defaulted, and only the apiVersion is converted. A Warning of TypeNotice says so.
type Transformed struct {
	// Object is JSON without white space, in the key order of the input, with new keys sorted at the end. It is nil if
	// the View excludes it. It may share memory with the documents of the write.
	Object []byte
	// Changed reports whether Object differs from the document as a value: 1.0 that became 1 is a change, white space
	// is not.
	Changed bool
	// Pruned, Defaulted, OmittedChanges and Warnings are as in Verdict.
	Pruned         []FieldChange
	Defaulted      []FieldChange
	OmittedChanges int
	Warnings       []Warning
	// Presentation is what ReadOptions.Include asks for.
	Presentation *Presentation
	// Revision is Definition.Revision.
	Revision string
}

// Rejection is the part of a metav1.Status that explains why the API server rejects a request: the HTTP Code, the Reason
// (BadRequest, Invalid), the Message, its Cause without the request handler's preamble, and the Details. Its method Status
// returns the Status as JSON.
type Rejection = admission.Rejection

// FieldChange is one field that was removed or filled in.
type FieldChange struct {
	// Path is upstream's notation of the field: spec.jobs[0].extra.
	Path string
	// Pointer is its JSON pointer (RFC 6901): /spec/jobs/0/extra.
	Pointer string
	// Value is the removed or new value, as JSON.
	Value []byte
	// Position is the position of a removed field in the document, nil if it is not known.
	Position *Position
	// Hint says, for a removed field, what was probably meant; nil if unknown.
	Hint *Hint
}

// Presentation is how an API server presents the object that Admit or Read returns.
type Presentation struct {
	// SelectableFields are the values that field selectors compare, in the order of publish.SelectableFields. Their type
	// is publish.SelectableField.
	SelectableFields []selector.Field
	// TableRow is a meta.k8s.io/v1 TableRow as JSON, without the object.
	TableRow []byte
	// Scale is the autoscaling/v1 Scale as JSON, nil if the version has no scale subresource.
	Scale []byte
}
