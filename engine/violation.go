package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/hint"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/rules"
)

// Violation is one error of an object or a CRD, or another reason to reject it. Error returns the text, which for a
// field error is upstream's.
type Violation struct {
	// Type is the field.ErrorType as metav1.CauseType spells it: FieldValueRequired, FieldValueInvalid, …. For reasons
	// that are not field errors of upstream, it is one of the types of this package, from TypeSyntax to TypeRejected.
	Type string
	// Field is upstream's text for the field, "<nil>" included. It is for people: two fields can have the same text. It is
	// empty for a reason that is not about a field.
	Field string
	// Message is upstream's field.Error.ErrorBody(), or one short sentence.
	Message string
	// Detail is upstream's field.Error.Detail, which Message contains. For other reasons it is Message.
	Detail string
	// BadValue is the invalid value as JSON, nil if upstream omits it. null and "" are values.
	BadValue []byte
	// Pointer is the JSON pointer (RFC 6901) of the field in the object.
	Pointer string
	// SchemaPointer is the JSON pointer of the violated keyword in the version's openAPIV3Schema, "" if there is no
	// such keyword.
	SchemaPointer string
	// Position is the position of Pointer in the document, or of its parent if the field is missing. It is nil if the
	// document does not contain it. For a Patch, the document is its Body.
	Position *Position
	// Rule is the rule that failed or could not be evaluated, nil for other violations.
	Rule *rules.Ref
	// Step is the step of the pipeline that found the violation.
	Step Step
	// Hint says what was probably meant, nil if unknown. Only the first violations of a verdict have hints.
	Hint *Hint
}

// Error returns the field, a colon and the message, which for a field error is upstream's text.
func (v Violation) Error() string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + ": " + v.Message
}

// Position is a position in a YAML or JSON document: Line and Column from 1, columns in code points, and the Offset in
// bytes from 0.
type Position = document.Position

// Hint is crdeval's guess of what was meant: a sentence as Text, the Pointer of the field that is meant, and the Replacement
// of the value as JSON. Pointer and Replacement can be empty. Upstream has no hints.
type Hint = violation.Hint

func violations(found []violation.Violation) []Violation {
	if len(found) == 0 {
		return nil
	}
	list := make([]Violation, len(found))
	texts := new(tree.Slab)
	for i := range found {
		list[i] = newViolation(&found[i], texts)
	}
	return list
}

// newViolation returns the public form of a violation. Its texts are kept in a slab.
func newViolation(v *violation.Violation, texts *tree.Slab) Violation {
	out := Violation{
		Type: string(v.Type), Field: v.Field, Detail: v.Detail, SchemaPointer: v.Schema, Rule: v.Rule, Step: v.Step, Hint: v.Hint,
		Message: texts.Text(func(dst []byte) []byte { return violation.AppendBody(dst, v.Error) }),
		Pointer: texts.Text(v.Path.AppendPointer),
	}
	if _, omitted := v.BadValue.(field.OmitValueType); !omitted {
		out.BadValue = texts.Bytes(func(dst []byte) []byte { return tree.AppendAny(dst, v.BadValue) })
	}
	if at := v.Position; at != (tree.Position{}) {
		out.Position = &at
	}
	return out
}

// addHints adds hints to an outcome.
func (d *Definition) addHints(ctx context.Context, r *admission.Request, out *admission.Outcome) {
	if len(out.Violations)+len(out.Next)+len(out.Pruned)+len(out.Warnings) == 0 {
		return
	}
	var compiled *plan.Plan
	if out.Version != nil {
		compiled = out.Version.Plan
	}
	text := r.Body
	if r.Patch != 0 || r.Scale {
		text = nil // the object that was validated is in no document
	}
	finder := hint.New(compiled, text, r.YAML, r.Origin, d.compiled.Limits, interrupt.Of(ctx))
	for _, list := range [...][]violation.Violation{out.Violations, out.Next} {
		for i := range list {
			list[i].Hint = finder.Violation(&list[i])
		}
	}
	unknown := map[string]*Hint{}
	for i := range out.Pruned {
		c := &out.Pruned[i]
		c.Hint = finder.Removed(c.Path)
		unknown[c.Pointer] = c.Hint
	}
	for i := range out.Warnings {
		switch w := &out.Warnings[i]; {
		case w.Repeat != nil:
			w.Hint = finder.Repeated(w.Path, w.Repeat)
		case w.Type == violation.TypeUnknownField && len(w.Path) > 0:
			h, known := unknown[w.Path.Pointer()]
			if !known {
				h = finder.Removed(w.Path)
			}
			w.Hint = h
		}
	}
	finder.Close() // not deferred: after a panic its memory must not return to the pool
}
