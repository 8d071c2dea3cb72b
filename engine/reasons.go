package engine

// Types of violations and warnings that are not field errors of upstream.
const (
	// TypeSyntax: the document is not JSON or YAML.
	TypeSyntax = "SyntaxError"
	// TypeDecode: a value that the decoder cannot read, such as a number as the value of a label.
	TypeDecode = "DecodeError"
	// TypeUnknownField: a field that the schema does not declare.
	TypeUnknownField = "UnknownField"
	// TypeDuplicateField: a field that is set twice.
	TypeDuplicateField = "DuplicateField"
	// TypeRejected: another reason to reject a request, such as a conflict or a patch that cannot be applied.
	TypeRejected = "Rejected"
	// TypeRatcheted: a violation that an update keeps, so that it does not reject the object.
	TypeRatcheted = "Ratcheted"
	// TypeDeprecated: a deprecated version.
	TypeDeprecated = "Deprecated"
	// TypeNotice: a note of crdeval, which API servers do not send.
	TypeNotice = "Notice"
	// TypeWarning: another warning of API servers.
	TypeWarning = "Warning"
)

// Warning is something about a document that does not reject it.
type Warning struct {
	// Type is one of the types above, or the type of the violation that is only warned about.
	Type string
	// Text is the text of the Warning header that an API server sends. For TypeNotice, it is a text of crdeval.
	Text string
	// Field is upstream's text for the field, "" if the warning is not about a field.
	Field string
	// Pointer is the JSON pointer (RFC 6901) of the field in the document.
	Pointer string
	// Position is the position of the field, nil if it is not known.
	Position *Position
	// Hint says what was probably meant, nil if unknown.
	Hint *Hint
}
