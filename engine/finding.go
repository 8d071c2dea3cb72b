package engine

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// violationOf gives a finding its public form; texts is memory for it.
func violationOf(v *violation.Violation, at value.Position, texts *value.Slab) Violation {
	out := Violation{
		Type: string(v.Type), Field: v.Field, Detail: v.Detail, SchemaPointer: v.Schema, Rule: v.Rule, Step: v.Step,
		Message: texts.Text(func(dst []byte) []byte { return violation.AppendBody(dst, v.Error) }),
		Pointer: texts.Text(v.Path.AppendPointer),
	}
	// What is omitted has no bad value; null and "" are values.
	if _, omitted := v.BadValue.(field.OmitValueType); !omitted {
		out.BadValue = texts.Bytes(func(dst []byte) []byte { return violation.AppendValue(dst, v.BadValue) })
	}
	if at != (value.Position{}) {
		out.Position = &at
	}
	return out
}
