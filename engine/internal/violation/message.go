package violation

import (
	"errors"
	"slices"
	"strconv"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Message returns the message of the Status that rejects an object with these errors. Each text occurs once, and
// several texts are in brackets. It equals the message of apimachinery's errors.NewInvalid, but takes linear time
// instead of quadratic. Message calls stopped, if not nil, after every 64 errors. If stopped returns true, the result
// is incomplete and must not be used.
func Message(kind schema.GroupKind, name string, errs []*field.Error, stopped func() bool) string {
	text := make([]byte, 0, len(kind.Kind)+len(kind.Group)+len(name)+32+sizeOf(errs))
	if text = append(text, kind.Kind...); kind.Group != "" {
		text = append(append(text, '.'), kind.Group...)
	}
	text = append(AppendQuoted(append(text, ' '), name), " is invalid"...)
	if len(errs) > 0 {
		text = appendTexts(append(text, ": "...), errs, stopped)
	}
	return unsafe.String(unsafe.SliceData(text), len(text)) // nothing else refers to text
}

// Together returns one error for all errors, with the text of field.ErrorList.ToAggregate. It returns nil for none.
func Together(errs []*field.Error) error {
	if len(errs) == 0 {
		return nil
	}
	return errors.New(string(appendTexts(nil, errs, nil)))
}

func appendTexts(text []byte, errs []*field.Error, stopped func() bool) []byte {
	text = slices.Grow(text, sizeOf(errs))
	start := len(text)
	text = append(text, '[') // removed below if there is only one text
	var said Texts
	for i, err := range errs {
		if i%64 == 63 && stopped != nil && stopped() {
			break
		}
		from := len(text)
		if from > start+1 {
			text = append(text, ", "...)
		}
		one := len(text)
		text = appendText(text, err)
		if !said.Add(unsafe.String(unsafe.SliceData(text[one:]), len(text)-one)) {
			text = text[:from]
		}
	}
	if said.count == 1 {
		return append(text[:start], text[start+1:]...)
	}
	return append(text, ']')
}

// sizeOf returns the approximate size of the error texts in bytes.
func sizeOf(errs []*field.Error) (size int) {
	for _, err := range errs {
		size += Size(err)
	}
	return size
}

// Texts is a set of texts. It compares up to fewTexts texts directly and uses a map for more.
type Texts struct {
	count int
	few   [fewTexts]string
	more  map[string]struct{}
}

const fewTexts = 16

// Add adds a text. It returns false if the set already has it.
func (t *Texts) Add(text string) (added bool) {
	if slices.Contains(t.few[:min(t.count, fewTexts)], text) {
		return false
	}
	if t.count++; t.count <= fewTexts {
		t.few[t.count-1] = text
		return true
	}
	if t.more == nil {
		t.more = map[string]struct{}{}
	}
	known := len(t.more)
	t.more[text] = struct{}{}
	return len(t.more) > known
}

// appendText appends err.Error(): the field, a colon, the body.
func appendText(dst []byte, err *field.Error) []byte {
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
		if IsReason(err.Type) {
			return append(dst, err.Detail...)
		}
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
		return tree.AppendAny(dst, bad), true
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
