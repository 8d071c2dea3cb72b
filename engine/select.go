package engine

import (
	"context"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/selector"
	"github.com/crdeval/crdeval/internal/value"
)

// MaxFieldSelectorBytes is how long a field selector may be: what Go's HTTP servers, and with them API servers, take of a request's line and headers
// together.
const MaxFieldSelectorBytes = 1 << 20

// MaxFieldSelectorTerms is how many terms a field selector may have, by the commas in it: each is looked at for each object. API servers have no such bound, and
// nobody has that many to write.
const MaxFieldSelectorTerms = 10_000

// SelectableFields lists the fields by which objects of a served version can be selected: metadata.name, metadata.namespace where objects live in
// namespaces, then those that the version declares, in its order. The caller must not change the slice.
func (d *Definition) SelectableFields(version string) (_ []string, err error) {
	defer recovered(&err)
	v, err := d.served(version)
	if err != nil {
		return nil, err
	}
	return v.Selectable.Names(), nil
}

// Select gives the selectable fields of an object with their values, in the order of SelectableFields: texts as they are, numbers and booleans as Go
// prints them, and "" for what is absent or null. version is that of the request, empty for the object's own. The object is taken
// as it is: one that comes from storage is read first, which fills in defaults (Read and Admit can include the fields in their answers).
// The error is an *Error: INVALID_ARGUMENT for an object of another kind or version, OBJECT_REFUSED, with upstream's words in its
// Refusal, for one that an API server could not list.
func (d *Definition) Select(ctx context.Context, version string, object Document) (_ []SelectableField, err error) {
	defer recovered(&err)
	if err := ctx.Err(); err != nil {
		return nil, tooLate(err)
	}
	doc := value.Acquire() // not released by defer: after a panic it must not go back into the pool
	list, err := d.selectIn(doc, version, object)
	doc.Release()
	if err != nil {
		return nil, err
	}
	return selectableFields(list), nil
}

func tooLate(err error) error {
	return &Error{Reason: ReasonItemDeadline, Message: "the call ended before the object was looked at: " + err.Error(), Err: err}
}

func (d *Definition) selectIn(doc *value.Doc, version string, object Document) ([]selector.Field, error) {
	v, root, err := d.presented(doc, version, object)
	if err != nil {
		return nil, err
	}
	list, err := v.Selectable.Fields(doc, root)
	if err != nil {
		return nil, unlisted(err)
	}
	return list, nil
}

// unlisted is the error of an object whose selectable fields cannot be told.
func unlisted(err error) error {
	return &Error{Reason: ReasonObjectRejected, Message: err.Error(), Err: err, Rejection: &Rejection{
		Code: http.StatusInternalServerError, Reason: string(metav1.StatusReasonInternalError), Message: err.Error(),
	}}
}

func selectableFields(list []selector.Field) []SelectableField {
	out := make([]SelectableField, len(list))
	for i, f := range list {
		out[i] = SelectableField{Field: f.Name, Value: f.Value}
	}
	return out
}

// FieldSelector is a field selector, checked against the fields of one version. It is immutable and safe for any number of goroutines.
type FieldSelector struct {
	inner *selector.Selector
}

// ParseFieldSelector reads a field selector for a served version: terms that must all hold, separated by commas, each a field, one of the operators =, ==
// and !=, and a value in which a comma, an equals sign and a backslash have a backslash before them; an empty one selects everything. The error
// is an *Error; for a selector that is malformed or names a field that cannot be selected it is INVALID_ARGUMENT and its Refusal is what an API server
// answers a list with that selector: 400, BadRequest, "field label not supported: spec.image".
func (d *Definition) ParseFieldSelector(version, selector string) (_ *FieldSelector, err error) {
	defer recovered(&err)
	v, err := d.served(version)
	if err != nil {
		return nil, err
	}
	if err := fitsSelector(selector); err != nil {
		return nil, &Error{Reason: ReasonLimitExceeded, Limit: err.Maximum, Actual: err.Actual, Message: err.Error(), Err: err}
	}
	inner, err := v.Selectable.Parse(selector)
	if err != nil {
		message := strings.Map(func(r rune) rune { return r }, err.Error()) // what is no UTF-8 is U+FFFD once it is JSON
		return nil, &Error{Reason: ReasonInvalidArgument, Message: message, Err: err, Rejection: &Rejection{
			Code: http.StatusBadRequest, Reason: string(metav1.StatusReasonBadRequest), Message: message,
		}}
	}
	return &FieldSelector{inner: inner}, nil
}

// fitsSelector checks the bounds of a selector's text, nil if it is within them.
func fitsSelector(selector string) *value.LimitError {
	if len(selector) > MaxFieldSelectorBytes {
		return &value.LimitError{Name: "max_field_selector_bytes", Limit: "field selector", Unit: "bytes", Maximum: MaxFieldSelectorBytes, Actual: int64(len(selector)),
			Advice: "no API server takes a request as long"}
	}
	if terms := strings.Count(selector, ",") + 1; terms > MaxFieldSelectorTerms {
		return &value.LimitError{Name: "max_field_selector_terms", Limit: "field selector", Unit: "terms", Maximum: MaxFieldSelectorTerms, Actual: int64(terms),
			Advice: "select by fewer fields at a time"}
	}
	return nil
}

// Matches reports whether an object with these fields, from Select, is selected.
func (s *FieldSelector) Matches(object []SelectableField) bool {
	list := make([]selector.Field, len(object))
	for i, f := range object {
		list[i] = selector.Field{Name: f.Field, Value: f.Value}
	}
	return s.inner.Matches(list)
}

// Empty reports whether every object is selected.
func (s *FieldSelector) Empty() bool { return s.inner.Empty() }

// String writes the selector as upstream does: terms in the order of the alphabet, = for ==.
func (s *FieldSelector) String() string { return s.inner.String() }

// MatchFields is ParseFieldSelector, Select and FieldSelector.Matches for one object. Nobody asks for the fields of an object where the selector
// is empty.
func (d *Definition) MatchFields(ctx context.Context, version, selector string, object Document) (_ bool, err error) {
	defer recovered(&err)
	s, err := d.ParseFieldSelector(version, selector)
	if err != nil || s.Empty() {
		return err == nil, err
	}
	fields, err := d.Select(ctx, version, object)
	if err != nil {
		return false, err
	}
	return s.Matches(fields), nil
}
