package page

import (
	"fmt"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// The bounds of an Input, a Report and an evaluation.
const (
	// MaxDocumentBytes bounds each document of an Input, in bytes.
	MaxDocumentBytes = 1 << 20
	// MaxRequestBytes bounds the JSON of an Input. JSON escapes can make a document up to six times as long.
	MaxRequestBytes = 8 << 20
	// DefaultTime bounds an evaluation.
	DefaultTime = 5 * time.Second

	maxDepth      = 1000
	maxViolations = 1000 // of one document
	maxTableBytes = 1 << 20
	maxFieldBytes = 1 << 10 // of version, subresource and other names
	maxPathBytes  = 4 << 10 // of an explained field
)

// limits bound the documents.
var limits = engine.Limits{MaxBytes: MaxDocumentBytes, MaxDepth: maxDepth, MaxAliasBytes: MaxDocumentBytes,
	MaxViolations: maxViolations, MaxViolationBytes: MaxDocumentBytes, MaxDefaultBytes: MaxDocumentBytes}

// check returns the first error in the parts of an Input that the engine does not check, or nil.
func (in *Input) check() *Error {
	for _, d := range []struct{ name, text string }{
		{DocumentCRD, in.CRD}, {DocumentObject, in.Object}, {DocumentOldObject, in.OldObject},
	} {
		if len(d.text) > MaxDocumentBytes {
			return &Error{Reason: string(engine.ReasonLimitExceeded), Document: d.name, Fixes: []Fix{}, Message: fmt.Sprintf(
				"%s: %d bytes exceed the limit of %d bytes: use a smaller document, or the command crdeval",
				d.name, len(d.text), MaxDocumentBytes)}
		}
	}
	for _, name := range []string{in.FieldValidation, in.Subresource, in.Version} {
		if len(name) > maxFieldBytes {
			return invalid("a name of %d bytes exceeds the limit of %d bytes", len(name), maxFieldBytes)
		}
	}
	if _, ok := fieldValidations[in.FieldValidation]; !ok {
		return invalid("unknown fieldValidation %q: use Strict, Warn or Ignore", in.FieldValidation)
	}
	switch in.Subresource {
	case "", "status", "scale":
	default:
		return invalid("unknown subresource %q: use status or scale, or leave it empty", in.Subresource)
	}
	return nil
}

var fieldValidations = map[string]engine.FieldValidation{
	"": engine.FieldValidationStrict, "Strict": engine.FieldValidationStrict,
	"Warn": engine.FieldValidationWarn, "Ignore": engine.FieldValidationIgnore,
}

func invalid(format string, args ...any) *Error {
	return &Error{Reason: string(engine.ReasonInvalidArgument), Message: fmt.Sprintf(format, args...), Fixes: []Fix{}}
}
