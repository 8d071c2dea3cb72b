package publish

import (
	"context"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/selector"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Bounds of a field selector. Go's HTTP servers, and so API servers, accept as many bytes in the request line and
// headers together. API servers have no bound on terms.
const (
	maxFieldSelectorBytes = 1 << 20
	maxFieldSelectorTerms = 10_000 // counted by the commas
)

// SelectableField is a field that field selectors can name. Field string is its name, such as metadata.name or
// spec.color. Value string is its value as text, "" for a missing field.
type SelectableField = selector.Field

// SelectableFields returns the fields by which objects of a served version can be selected: metadata.name,
// metadata.namespace for namespaced objects, then those that the version declares, in its order. The caller must not
// modify the slice.
func SelectableFields(d *engine.Definition, version string) (_ []string, err error) {
	defer host.Recover(&err)
	v, err := compiled.Of(d).Served(version)
	if err != nil {
		return nil, compiled.Error(err)
	}
	return v.Selectable.Names, nil
}

// Select returns the selectable fields of an object with their values, in the order of SelectableFields: texts as they
// are, numbers and booleans as Go prints them, "" for missing fields and nulls. version is that of the request, "" for
// the object's own. The object is used as it is: Read one from storage first, which fills in defaults, or let Read or
// Admit include the fields.
//
// The error is an *engine.Error: INVALID_ARGUMENT for an object of another kind or version, OBJECT_REJECTED, with upstream's
// text in its Rejection, for an object that an API server could not list.
func Select(ctx context.Context, d *engine.Definition, version string, object engine.Document) (_ []SelectableField, err error) {
	defer host.Recover(&err)
	var list []SelectableField
	err = compiled.Of(d).Inspect(ctx, version, compiled.Document(object), func(v *admission.Version, doc *tree.Doc, root uint32) error {
		var err error
		if list, err = v.Selectable.Fields(doc, root); err != nil {
			return &engine.Error{Reason: engine.ReasonObjectRejected, Message: err.Error(), Err: err, Rejection: &engine.Rejection{
				Code: http.StatusInternalServerError, Reason: string(metav1.StatusReasonInternalError), Message: err.Error(),
			}}
		}
		return nil
	})
	if err != nil {
		return nil, compiled.Error(err)
	}
	return list, nil
}

// FieldSelector is a field selector for one version. It is immutable and safe for concurrent use.
type FieldSelector struct {
	inner fields.Selector
}

// ParseFieldSelector parses a field selector for a served version: comma-separated terms that must all hold. A term is
// a field, one of the operators =, == and !=, and a value, in which a comma, an equals sign and a backslash are escaped
// with a backslash. An empty selector selects everything.
//
// The error is an *engine.Error. For a malformed selector, or a field that cannot be selected, it is INVALID_ARGUMENT, and its
// Rejection is the answer of an API server to a list with that selector: 400, BadRequest, "field label not supported:
// spec.image".
func ParseFieldSelector(d *engine.Definition, version, selector string) (_ *FieldSelector, err error) {
	defer host.Recover(&err)
	v, err := compiled.Of(d).Served(version)
	if err != nil {
		return nil, compiled.Error(err)
	}
	var limit *tree.LimitError
	if n := len(selector); n > maxFieldSelectorBytes {
		limit = &tree.LimitError{
			Name: "max_field_selector_bytes", Limit: "field selector", Unit: "bytes", Maximum: maxFieldSelectorBytes, Actual: int64(n),
			Advice: "no API server accepts such a long request",
		}
	} else if terms := strings.Count(selector, ",") + 1; terms > maxFieldSelectorTerms {
		limit = &tree.LimitError{
			Name: "max_field_selector_terms", Limit: "field selector", Unit: "terms", Maximum: maxFieldSelectorTerms, Actual: int64(terms),
			Advice: "select by fewer fields at a time",
		}
	}
	if limit != nil {
		return nil, limitExceeded(limit.Error(), limit, limit)
	}
	inner, err := v.Selectable.Parse(selector)
	if err != nil {
		message := strings.Map(func(r rune) rune { return r }, err.Error()) // replaces invalid UTF-8, as JSON does
		return nil, &engine.Error{Reason: engine.ReasonInvalidArgument, Message: message, Err: err, Rejection: &engine.Rejection{
			Code: http.StatusBadRequest, Reason: string(metav1.StatusReasonBadRequest), Message: message,
		}}
	}
	return &FieldSelector{inner: inner}, nil
}

// Matches reports whether an object with these fields, from Select, is selected.
func (s *FieldSelector) Matches(object []SelectableField) bool {
	set := make(fields.Set, len(object))
	for _, f := range object {
		set[f.Field] = f.Value
	}
	return s.inner.Matches(set)
}

// Empty reports whether every object is selected.
func (s *FieldSelector) Empty() bool { return s.inner.Empty() }

// String returns the selector as upstream prints it: sorted terms, with = for ==.
func (s *FieldSelector) String() string { return s.inner.String() }
