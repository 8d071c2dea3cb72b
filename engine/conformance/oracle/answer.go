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

// FieldError is one field error, in the five parts that fidelity is about.
type FieldError struct {
	// Type is the cause type as metav1.CauseType spells it, for example FieldValueRequired.
	Type string `json:"type"`
	// Field is upstream's path text, "<nil>" included.
	Field string `json:"field"`
	// Detail is the text after the value.
	Detail string `json:"detail"`
	// BadValue is the offending value as JSON; nil where upstream omits the value.
	BadValue json.RawMessage `json:"badValue,omitempty"`
	// Message is field.Error.Error().
	Message string `json:"message"`
}

// key is what two field errors are compared by. JSON values are compared by their canonical text.
func (f FieldError) key() string {
	bad, message := "(omitted)", f.Message
	if f.BadValue != nil {
		bad = string(canonical(f.BadValue))
		if own := string(unmanaged([]byte(bad))); own != bad { // the managed fields of a whole object that is shown are the server's affair
			message, bad = strings.Replace(message, bad, own, 1), own
		}
	}
	return Timeless(strings.Join([]string{f.Type, f.Field, f.Detail, bad, message}, "\x00"))
}

// generated are the names of types that upstream makes of the time at which it compiles a rule.
var generated = regexp.MustCompile(`selfType\d+`)

// Timeless replaces the names that upstream generates, which are others each time, by one.
func Timeless(text string) string {
	if !strings.Contains(text, "selfType") {
		return text
	}
	return generated.ReplaceAllString(text, "selfTypeN")
}

// FieldErrorOf renders a field error.
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

// FieldErrorsOf renders a list of field errors in its order.
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

// refusalOf renders the error of a request handler as the API server's error responder does.
func refusalOf(err error) *Rejection {
	if s, ok := err.(apierrors.APIStatus); ok {
		st := s.Status()
		return &Rejection{Code: st.Code, Reason: string(st.Reason), Message: st.Message}
	}
	return &Rejection{Code: 500, Message: err.Error()}
}

// Answer is everything upstream says about one document.
type Answer struct {
	// Rejection is set when the request ended before validation; everything else is then empty, but for Strict.
	Rejection *Rejection `json:"rejection,omitempty"`
	// DecodeError is the text of the error that the rejection wraps, without the API server's preamble.
	DecodeError string `json:"decodeError,omitempty"`
	// Object is the object as it would be stored in the request's version, had it been accepted. Of a definition that
	// was accepted it is what is stored at v1, without status and without what a server sets in metadata.
	Object json.RawMessage `json:"object,omitempty"`
	// Stored is what the storage is given, in the storage version, by the API server's own handlers; Object is then
	// what the client is answered. Neither has what a server alone can make: managed fields, and of a creation the uid
	// and the time. Deletes: the object is removed instead, since its last finalizer goes.
	Stored  json.RawMessage `json:"stored,omitempty"`
	Deletes bool            `json:"deletes,omitempty"`
	// Decoded and OldDecoded are what mutating admission sees, managed fields included.
	Decoded    json.RawMessage `json:"decoded,omitempty"`
	OldDecoded json.RawMessage `json:"oldDecoded,omitempty"`
	// Status is the body of a rejection.
	Status json.RawMessage `json:"status,omitempty"`
	// Generation and StoredVersions are what a definition that was accepted has then.
	Generation     int64    `json:"generation,omitempty"`
	StoredVersions []string `json:"storedVersions,omitempty"`
	// Strict holds the texts of the strict decoder: duplicate and unknown fields, in upstream's order.
	Strict []string `json:"strict,omitempty"`
	// Errors holds the field errors; their order means nothing.
	Errors []FieldError `json:"errors,omitempty"`
	// Warnings holds what the strategies warn of; strict decoding and deprecation apart.
	Warnings []string `json:"warnings,omitempty"`
	// Ratcheted counts the warnings that are ratcheted failures of rules. Their order means nothing: upstream walks Go
	// maps.
	Ratcheted int `json:"ratcheted,omitempty"`
}

// Accepted reports whether upstream would carry out the request.
func (a Answer) Accepted() bool { return a.Rejection == nil && len(a.Errors) == 0 }

// Compare lists how ours differs from upstream's answer; nothing if it does not. Field errors are compared as multisets,
// objects as JSON values, strict errors and warnings as lists.
func Compare(upstream, ours Answer) []string {
	var d []string
	if diff := compareRefusals(upstream.Rejection, ours.Rejection); diff != "" {
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
		before, after = nil, nil // which of so many the recorder cuts or drops depends on their order
	} else if upstream.Ratcheted > 1 {
		before, after = slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after))
	}
	d = append(d, compareLists("warning", before, after)...)
	return append(d, compareFieldErrors(upstream.Errors, ours.Errors)...)
}

// cutFrom is the number of runes from which warnings may have been cut: the API server sends 4,096 in all, or those of
// 256 that fit.
const cutFrom = 3800

func runes(texts []string) (n int) {
	for _, t := range texts {
		n += utf8.RuneCountInString(t)
	}
	return n
}

// ownWords are the reasons of errors that crdeval words itself.
var ownWords = map[string]bool{"NOT_A_CRD": true, "MANIFEST_UNREADABLE": true, "LIMIT_EXCEEDED": true}

func compareRefusals(upstream, ours *Rejection) string {
	switch {
	case upstream == nil && ours == nil:
		return ""
	case upstream == nil:
		return fmt.Sprintf("rejection: upstream none, ours %+v", *ours)
	case ours == nil:
		return fmt.Sprintf("rejection: upstream %+v, ours none", *upstream)
	case ownWords[ours.Reason] || upstream.Reason == Unworded:
		return "" // a document that is not judged at all: crdeval says so in its own words
	case upstream.Code != ours.Code || upstream.Reason != ours.Reason || Timeless(sent(upstream.Message)) != Timeless(sent(ours.Message)):
		return fmt.Sprintf("rejection: upstream %+v, ours %+v", *upstream, *ours)
	}
	return ""
}

// sent is a text as a client reads it: JSON has no other bytes than UTF-8.
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

// sameJSON compares two documents as values: numbers by the literal that upstream prints, key order aside.
func sameJSON(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return bytes.Equal(a, b) || bytes.Equal(canonical(a), canonical(b))
}

// canonical prints a JSON document with sorted keys and number literals untouched.
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
