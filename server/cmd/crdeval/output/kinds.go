package output

// Kinds of problems. The kind of another violation is its type, such as FieldValueRequired.
const (
	Rule             = "x-kubernetes-validations"
	UnknownField     = "UnknownField"
	DuplicateField   = "DuplicateField"
	SyntaxError      = "SyntaxError"
	DecodeError      = "DecodeError"
	Rejected         = "Rejected"
	NamesNotAccepted = "NamesNotAccepted"
	ConversionRules  = "ConversionRules"
	Warning          = "Warning"
	Deprecated       = "Deprecated"
	Ratcheted        = "Ratcheted"
	Notice           = "Notice"
	NotChecked       = "NotChecked"
	TestFailed       = "TestFailed"
	CRDChange        = "CRDChange"
	ReplayedObject   = "ReplayedObject"
	InternalError    = "InternalError"
)

// kind describes a kind of problem. Its id is stable: users refer to it in filters and suppressions.
type kind struct{ id, summary, help string }

// kinds are all kinds of problems.
var kinds = []kind{
	{"FieldValueRequired", "A required field is missing.",
		"The schema lists the field in `required`, or the API server needs it. Add the field."},
	{"FieldValueInvalid", "A value is invalid.",
		"The value violates a keyword of the schema, such as `maximum`, `pattern` or `format`, or a check of the API " +
			"server. The message contains the value and the bound."},
	{"FieldValueTypeInvalid", "A value has the wrong type.",
		"The schema declares another `type`. Quote strings that look like numbers or booleans, and unquote numbers."},
	{"FieldValueNotSupported", "A value is not one of the supported values.",
		"The schema lists the supported values in `enum`. The message contains them. Values are case-sensitive."},
	{"FieldValueForbidden", "A field is not allowed here.",
		"Remove the field. The message says which condition forbids it."},
	{"FieldValueDuplicate", "An item of a list is a duplicate.",
		"The list has the type `set` or `map`. Remove or change one of the items, or their keys."},
	{"FieldValueNotFound", "A referenced value does not exist.", "Correct the reference, or add the value."},
	{"FieldValueTooLong", "A value is too long.",
		"The schema limits its size, for example with `maxLength`. Shorten the value."},
	{"FieldValueTooShort", "A value is too short.", "Lengthen the value. The message contains the bound."},
	{"FieldValueTooMany", "A list or map has too many items.",
		"The schema limits its size with `maxItems` or `maxProperties`."},
	{"FieldValueTooFew", "A list or map has too few items.",
		"The schema needs more items. The message contains the bound."},
	{InternalError, "The API server cannot evaluate a value.", "The message contains the cause."},
	{Rule, "A CEL rule of the CRD is violated.",
		"The CRD has the rule in `x-kubernetes-validations`. Run `crdeval admit --explain` to print the values in the rule."},
	{UnknownField, "The schema does not declare a field.",
		"`kubectl apply` rejects unknown fields, and API servers prune them. Correct the name, or remove the field. " +
			"Use `--field-validation` to change how unknown fields are handled."},
	{DuplicateField, "A field occurs twice in the same object.", "Remove one of them. API servers use the last one."},
	{SyntaxError, "The document is not valid JSON or YAML.", "The position is where the parser failed."},
	{DecodeError, "A value cannot be decoded.",
		"Metadata has fixed types: the values of labels and annotations are strings. " +
			"Quote strings that look like numbers or booleans."},
	{Rejected, "The API server rejects the document.", "The message is that of the API server."},
	{NamesNotAccepted, "Names of a CRD conflict with those of another CRD.",
		"The API server stores the CRD, but does not serve it under these names. Change the names of one CRD."},
	{ConversionRules, "Conversion rules do not fit their CRD.",
		"The rules name fields that the schemas do not have, lose values, or break a law of conversions."},
	{Warning, "The API server returns a warning.", "The write is allowed. kubectl prints the warning."},
	{Deprecated, "The version of the object is deprecated.",
		"The write is allowed. Use the version that the message names."},
	{Ratcheted, "A value is invalid, and the update does not change it.", "The write is allowed. Correct the value."},
	{Notice, "crdeval has a note about the document.", "API servers do not send it. The message says what to change."},
	{TestFailed, "A test of a CRD fails.",
		"The result differs from the result that the test expects. Correct the CRD or the test."},
	{CRDChange, "A change of a CRD is breaking, or needs care.",
		"The message names whom the change affects: stored objects, clients that write, or clients that read. Use " +
			"`--fail-on` to choose which changes are errors."},
	{ReplayedObject, "An object has different results under the old and the new CRD.",
		"The new CRD rejects the object, or prunes, defaults or converts it differently. The message contains the result."},
	{"SeveralCRDs", "Several CRDs apply to an object.",
		"Files define the same CRD, and none of them is nearest to the object. Name the right one with `--crds`."},
	{NotChecked, "A document could not be checked.",
		"The document is unreadable, or no CRD of the object is known. Use `--crds` to name the CRDs, " +
			"`--allow-missing-crds` to accept objects without a CRD, and `--exclude` to skip files."},
}

// indexOfKind returns the index in kinds, and that of Rejected for an unknown kind.
func indexOfKind(id string) (index int) {
	for i, k := range kinds {
		switch k.id {
		case id:
			return i
		case Rejected:
			index = i
		}
	}
	return index
}
