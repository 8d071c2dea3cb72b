package engine

import (
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Step is the step of the pipeline that found a violation.
type Step = violation.Step

// The words of Violation.Type and Warning.Type that are not field errors of upstream, and those of Violation.Step in the
// order of a write.
const (
	// TypeSyntax: the document is not JSON or YAML.
	TypeSyntax = string(violation.TypeSyntax)
	// TypeDecode: a value that the decoder cannot read, such as a number as the value of a label.
	TypeDecode = string(violation.TypeDecode)
	// TypeUnknownField: a field that the schema does not declare.
	TypeUnknownField = string(violation.TypeUnknownField)
	// TypeDuplicateField: a field that is set twice.
	TypeDuplicateField = string(violation.TypeDuplicateField)
	// TypeRejected: another reason to reject a request, such as a conflict or a patch that cannot be applied.
	TypeRejected = string(violation.TypeRejected)
	// TypeRatcheted: a violation that an update keeps, so that it does not reject the object.
	TypeRatcheted = string(violation.TypeRatcheted)
	// TypeDeprecated: a deprecated version.
	TypeDeprecated = string(violation.TypeDeprecated)
	// TypeNotice: a note of crdeval, which API servers do not send.
	TypeNotice = string(violation.TypeNotice)
	// TypeWarning: another warning of API servers.
	TypeWarning = string(violation.TypeWarning)

	StepDecode       = violation.Decode       // JSON, TypeMeta and ObjectMeta could not be read
	StepRequest      = violation.Request      // the object does not match the endpoint: version, namespace, name
	StepTypeMeta     = violation.TypeMeta     // apiVersion and kind
	StepMetadata     = violation.Metadata     // ObjectMeta
	StepSchema       = violation.Schema       // OpenAPI v3 validation
	StepScale        = violation.Scale        // the fields of the scale subresource
	StepEmbedded     = violation.Embedded     // metadata of embedded resources
	StepList         = violation.List         // sets and maps
	StepRule         = violation.Rules        // x-kubernetes-validations
	StepRulesSkipped = violation.RulesSkipped // Kubernetes' note that it did not evaluate rules, because of violations before
	StepCRD          = violation.CRD          // the rules for CustomResourceDefinitions
	StepConvert      = violation.Convert      // declared conversion rules that do not fit the CRD; not part of a write
)

// Warning is something about a document that does not reject it.
type Warning struct {
	// Type is one of TypeUnknownField to TypeWarning.
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

func warnings(list []violation.Warning) []Warning {
	if len(list) == 0 {
		return nil
	}
	all := make([]Warning, len(list))
	for i := range list {
		w := &list[i]
		all[i] = Warning{Type: string(w.Type), Text: w.Text, Field: w.Field, Pointer: w.Path.Pointer(), Hint: w.Hint}
		if at := list[i].Position; at != (Position{}) {
			all[i].Position = &at
		}
	}
	return all
}
