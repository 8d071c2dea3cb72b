package violation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Types of reasons that are not field errors of upstream. Their Detail is the whole message.
const (
	TypeSyntax         field.ErrorType = "SyntaxError"    // the document is not JSON or YAML
	TypeDecode         field.ErrorType = "DecodeError"    // the decoder cannot read a value
	TypeUnknownField   field.ErrorType = "UnknownField"   // the schema does not declare a field
	TypeDuplicateField field.ErrorType = "DuplicateField" // a field is set twice
	TypeRejected       field.ErrorType = "Rejected"       // another reason to reject a request
	TypeRatcheted      field.ErrorType = "Ratcheted"      // a violation that an update keeps
	TypeDeprecated     field.ErrorType = "Deprecated"     // a deprecated version
	TypeNotice         field.ErrorType = "Notice"         // a note of crdeval
	TypeWarning        field.ErrorType = "Warning"        // another warning of API servers
)

// IsReason reports whether a type is one of the above. Violations of other types are causes of upstream's Status.
func IsReason(t field.ErrorType) bool {
	switch t {
	case TypeSyntax, TypeDecode, TypeUnknownField, TypeDuplicateField, TypeRejected,
		TypeRatcheted, TypeDeprecated, TypeNotice, TypeWarning:
		return true
	}
	return false
}

// Reason returns a violation that is not a field error of upstream. text is upstream's notation of the field, "" for a
// reason without one.
func Reason(step Step, of field.ErrorType, text, message string, path tree.Path) Violation {
	return Of(step, &field.Error{Type: of, Field: text, BadValue: field.OmitValueType{}, Detail: message}, path)
}

// Warning is something about a document that does not reject it.
type Warning struct {
	// Type is one of the types above.
	Type field.ErrorType
	// Text is the text of the Warning header, or of crdeval's note.
	Text string
	// Field is upstream's notation of the field, "" for a warning without one.
	Field string
	// Path leads to the field. It owns its memory.
	Path tree.Path
	// Position is that of the field in the document, or the zero Position.
	Position tree.Position
	// Repeat is the place of a key that is set again, nil for other warnings.
	Repeat *tree.DuplicatePlace
	// Hint says what was probably meant, nil if unknown.
	Hint *Hint
}

// Violation returns the violation that rejects what the warning is about.
func (w *Warning) Violation(step Step) Violation {
	v := Reason(step, w.Type, w.Field, MessageOf(w.Type, w.Text), w.Path)
	v.Position, v.Repeat, v.Hint = w.Position, w.Repeat, w.Hint
	return v
}

// MessageOf returns the message of an unknown or duplicate field, which does not repeat the field, or for other types the
// text.
func MessageOf(of field.ErrorType, text string) string {
	switch of {
	case TypeUnknownField:
		return "unknown field"
	case TypeDuplicateField:
		return "duplicate field"
	}
	return text
}
