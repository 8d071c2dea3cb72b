package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// FieldError is one field error, split into the five parts that are compared.
type FieldError struct {
	// Type is the cause type (metav1.CauseType), for example FieldValueRequired.
	Type string `json:"type"`
	// Field is upstream's path, which can be "<nil>".
	Field string `json:"field"`
	// Detail is the text after the value.
	Detail string `json:"detail"`
	// BadValue is the offending value as JSON; nil where upstream omits the value.
	BadValue json.RawMessage `json:"badValue,omitempty"`
	// Message is field.Error.Error().
	Message string `json:"message"`
}

// key returns what two field errors are compared by. JSON values are compared by their canonical text.
func (f FieldError) key() string {
	bad, message := "(omitted)", f.Message
	if f.BadValue != nil {
		bad = string(canonical(f.BadValue))
		if own := string(unmanaged([]byte(bad))); own != bad { // if a whole object is printed, its managed fields depend on the server
			message, bad = strings.Replace(message, bad, own, 1), own
		}
	}
	return Timeless(strings.Join([]string{f.Type, f.Field, f.Detail, bad, message}, "\x00"))
}

// generated matches the type names that upstream derives from the time at which it compiles a rule.
var generated = regexp.MustCompile(`selfType\d+`)

// Timeless replaces the type names that upstream generates from the time by a constant.
func Timeless(text string) string {
	if !strings.Contains(text, "selfType") {
		return text
	}
	return generated.ReplaceAllString(text, "selfTypeN")
}

// FieldErrorOf converts a field error.
func FieldErrorOf(e *field.Error) FieldError {
	f := FieldError{Type: string(e.Type), Field: e.Field, Detail: e.Detail, Message: e.Error()}
	if _, omitted := e.BadValue.(field.OmitValueType); !omitted {
		bad, err := json.Marshal(e.BadValue)
		if err != nil {
			bad, _ = json.Marshal(fmt.Sprintf("%#v", e.BadValue))
		}
		f.BadValue = bad
	}
	return f
}

// FieldErrorsOf converts a list of field errors and keeps their order.
func FieldErrorsOf(l field.ErrorList) []FieldError {
	out := make([]FieldError, 0, len(l))
	for _, e := range l {
		out = append(out, FieldErrorOf(e))
	}
	return out
}

// Rejection is the metav1.Status of a request that ended before validation.
type Rejection struct {
	Code    int32  `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// rejectionOf converts the error of a request handler as the API server's error responder does.
func rejectionOf(err error) *Rejection {
	if s, ok := err.(apierrors.APIStatus); ok {
		st := s.Status()
		return &Rejection{Code: st.Code, Reason: string(st.Reason), Message: st.Message}
	}
	return &Rejection{Code: 500, Message: err.Error()}
}

// Answer is everything that upstream returns for one document.
type Answer struct {
	// Rejection is set if the request ended before validation. Then all other fields except Strict are empty.
	Rejection *Rejection `json:"rejection,omitempty"`
	// DecodeError is the text of the error that the rejection wraps, without the API server's preamble.
	DecodeError string `json:"decodeError,omitempty"`
	// Object is the object as it would be stored in the version of the request if it were accepted. For an accepted CRD
	// it is the stored v1 object without status and without the metadata that a server sets.
	Object json.RawMessage `json:"object,omitempty"`
	// Stored is what the API server's own handlers pass to the storage, in the storage version. Then Object is the
	// response to the client. Both lack what only a server can set: managed fields, and for a creation the uid and the
	// time. Deletes is true if the object is removed instead, because its last finalizer is removed.
	Stored  json.RawMessage `json:"stored,omitempty"`
	Deletes bool            `json:"deletes,omitempty"`
	// Unchanged is true if an update stores what is stored already.
	Unchanged bool `json:"unchanged,omitempty"`
	// Decoded and OldDecoded are the objects that mutating admission receives, with managed fields.
	Decoded    json.RawMessage `json:"decoded,omitempty"`
	OldDecoded json.RawMessage `json:"oldDecoded,omitempty"`
	// Status is the body of a rejection.
	Status json.RawMessage `json:"status,omitempty"`
	// Generation and StoredVersions are those of an accepted CRD.
	Generation     int64    `json:"generation,omitempty"`
	StoredVersions []string `json:"storedVersions,omitempty"`
	// Strict holds the texts of the strict decoder: duplicate and unknown fields, in upstream's order.
	Strict []string `json:"strict,omitempty"`
	// Errors contains the field errors in any order.
	Errors []FieldError `json:"errors,omitempty"`
	// Warnings contains the warnings of the strategies, without those of strict decoding and deprecation.
	Warnings []string `json:"warnings,omitempty"`
	// Ratcheted counts the warnings that are ratcheted rule failures. Their order is random, because upstream iterates
	// over Go maps.
	Ratcheted int `json:"ratcheted,omitempty"`
}

// Accepted reports whether upstream would carry out the request.
func (a Answer) Accepted() bool { return a.Rejection == nil && len(a.Errors) == 0 }

// Compare lists the differences between our answer and upstream's. Field errors are compared as multisets, objects as
// JSON values, strict errors and warnings as lists.
func Compare(upstream, ours Answer) []string {
	var d []string
	if diff := compareRejections(upstream.Rejection, ours.Rejection); diff != "" {
		d = append(d, diff)
	}
	if !sameJSON(upstream.Object, ours.Object) {
		d = append(d, fmt.Sprintf("object: upstream %s, ours %s", text(upstream.Object), text(ours.Object)))
	}
	if upstream.Generation != ours.Generation {
		d = append(d, fmt.Sprintf("generation: upstream %d, ours %d", upstream.Generation, ours.Generation))
	}
	d = append(d, compareLists("stored version", upstream.StoredVersions, ours.StoredVersions)...)
	d = append(d, compareLists("strict error", upstream.Strict, ours.Strict)...)
	before, after := upstream.Warnings, ours.Warnings
	if upstream.Ratcheted > 1 && runes(before) > cutFrom && runes(after) > cutFrom {
		before, after = nil, nil // which warnings the recorder truncates or drops depends on their order
	} else if upstream.Ratcheted > 1 {
		before, after = slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after))
	}
	d = append(d, compareLists("warning", before, after)...)
	return append(d, compareFieldErrors(upstream.Errors, ours.Errors)...)
}

// cutFrom is the number of runes from which warnings may be truncated: the API server sends at most 4,096 runes in all,
// or those of 256 warnings.
const cutFrom = 3800

func runes(texts []string) (n int) {
	for _, t := range texts {
		n += utf8.RuneCountInString(t)
	}
	return n
}

// ownWords lists the reasons of errors whose text is crdeval's own.
var ownWords = map[string]bool{"NOT_A_CRD": true, "MANIFEST_UNREADABLE": true, "LIMIT_EXCEEDED": true}

func compareRejections(upstream, ours *Rejection) string {
	switch {
	case upstream == nil && ours == nil:
		return ""
	case upstream == nil:
		return fmt.Sprintf("rejection: upstream none, ours %+v", *ours)
	case ours == nil:
		return fmt.Sprintf("rejection: upstream %+v, ours none", *upstream)
	case ownWords[ours.Reason] || upstream.Reason == Unworded:
		return "" // the document was not evaluated at all, and the text is crdeval's own
	case upstream.Code != ours.Code || upstream.Reason != ours.Reason || Timeless(sent(upstream.Message)) != Timeless(sent(ours.Message)):
		return fmt.Sprintf("rejection: upstream %+v, ours %+v", *upstream, *ours)
	}
	return ""
}

// sent returns a text as a client reads it: JSON contains valid UTF-8 only.
func sent(text string) (read string) {
	if doc, err := json.Marshal(text); err != nil || json.Unmarshal(doc, &read) != nil {
		return text
	}
	return read
}

func compareLists(what string, upstream, ours []string) []string {
	if len(upstream) == len(ours) {
		same := true
		for i := range upstream {
			same = same && upstream[i] == ours[i]
		}
		if same {
			return nil
		}
	}
	return []string{fmt.Sprintf("%ss: upstream %q, ours %q", what, upstream, ours)}
}

func compareFieldErrors(upstream, ours []FieldError) []string {
	count := map[string]int{}
	sample := map[string]FieldError{}
	for _, f := range upstream {
		count[f.key()]++
		sample[f.key()] = f
	}
	for _, f := range ours {
		count[f.key()]--
		sample[f.key()] = f
	}
	keys := make([]string, 0, len(count))
	for k, n := range count {
		if n != 0 {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	var d []string
	for _, k := range keys {
		f, _ := json.Marshal(sample[k])
		if n := count[k]; n > 0 {
			d = append(d, fmt.Sprintf("field error of upstream alone (%d): %s", n, f))
		} else {
			d = append(d, fmt.Sprintf("field error of ours alone (%d): %s", -n, f))
		}
	}
	return d
}

// sameJSON compares two documents as values. Numbers are compared by the literals that upstream prints; the order of
// keys does not matter.
func sameJSON(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return bytes.Equal(a, b) || bytes.Equal(canonical(a), canonical(b))
}

// canonical prints a JSON document with sorted keys and unchanged number literals.
func canonical(doc []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return doc
	}
	out, err := json.Marshal(v)
	if err != nil {
		return doc
	}
	return out
}

func text(doc []byte) string {
	if len(doc) == 0 {
		return "none"
	}
	return string(doc)
}
