package violation

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/value"
)

// AppendText appends err.Error(): the field, a colon, the body.
func AppendText(dst []byte, err *field.Error) []byte {
	return AppendBody(append(append(dst, err.Field...), ": "...), err)
}

// AppendBody appends err.ErrorBody(). For common error types it does not allocate an intermediate string.
func AppendBody(dst []byte, err *field.Error) []byte {
	switch err.Type {
	case field.ErrorTypeRequired, field.ErrorTypeForbidden, field.ErrorTypeTooLong, field.ErrorTypeTooShort, field.ErrorTypeInternal:
		dst = append(dst, err.Type.String()...)
	case field.ErrorTypeInvalid, field.ErrorTypeTypeInvalid, field.ErrorTypeNotSupported, field.ErrorTypeNotFound, field.ErrorTypeDuplicate,
		field.ErrorTypeTooMany, field.ErrorTypeTooFew:
		start := len(dst)
		dst = append(dst, err.Type.String()...)
		if _, omitted := err.BadValue.(field.OmitValueType); omitted {
			break
		}
		shown, ok := appendBad(append(dst, ": "...), err.BadValue)
		if !ok {
			return append(dst[:start], err.ErrorBody()...)
		}
		dst = shown
	default:
		return append(dst, err.ErrorBody()...)
	}
	if err.Detail != "" {
		dst = append(append(dst, ": "...), err.Detail...)
	}
	return dst
}

// appendBad appends a bad value as upstream prints it. ok is false for types that it does not support.
func appendBad(dst []byte, bad any) (_ []byte, ok bool) {
	switch bad := bad.(type) {
	case string:
		return AppendQuoted(dst, bad), true
	case int64:
		return strconv.AppendInt(dst, bad, 10), true
	case int:
		return strconv.AppendInt(dst, int64(bad), 10), true
	case bool:
		return strconv.AppendBool(dst, bad), true
	case map[string]any, []any, nil:
		return AppendValue(dst, bad), true
	}
	return dst, false
}

// AppendQuoted is strconv.AppendQuote with a fast path for ASCII text without escapes.
func AppendQuoted(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.AppendQuote(dst, text)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// AppendValue appends a bad value as json.Marshal encodes it.
func AppendValue(dst []byte, bad any) []byte {
	switch bad := bad.(type) {
	case nil, string, int64, float64, bool, map[string]any, []any:
		return value.AppendAny(dst, bad)
	case int:
		return strconv.AppendInt(dst, int64(bad), 10)
	}
	text, err := json.Marshal(bad)
	if err != nil {
		text, _ = json.Marshal(err.Error()) // cannot happen for values decoded from JSON
	}
	return append(dst, text...)
}
