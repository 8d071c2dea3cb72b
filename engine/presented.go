package engine

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/internal/value"
)

// served returns a version that is served.
func (d *Definition) served(version string) (*admission.Version, error) {
	if version == "" {
		return nil, &Error{Reason: ReasonInvalidArgument, Message: "there is no version: say which of the CRD's versions is meant"}
	}
	v, err := d.inner.Endpoint(version)
	if err != nil {
		return nil, faultError(err)
	}
	return v, nil
}

// presented parses an object that is to be shown at a version, empty for its own, and finds that. The object is one that the API server, or crdeval, has
// answered: it is taken as it is, neither coerced nor defaulted nor converted, so one of another version is an error.
func (d *Definition) presented(doc *value.Doc, version string, object Document) (v *admission.Version, root uint32, err error) {
	invalid := func(format string, args ...any) error {
		return &Error{Reason: ReasonInvalidArgument, Message: "object: " + fmt.Sprintf(format, args...)}
	}
	switch {
	case object.Absent():
		return nil, 0, &Error{Reason: ReasonInvalidArgument, Message: "there is no object"}
	case object.JSON != nil && object.YAML != nil:
		return nil, 0, bothSet("object")
	case object.YAML != nil:
		root, err = doc.ParseYAML(object.YAML, value.Request, d.limits)
	default:
		root, err = doc.ParseJSON(object.JSON, d.limits)
	}
	if err != nil {
		return nil, 0, unreadable("object", ReasonObjectUnreadable, err)
	}
	if doc.Nodes[root].Kind != value.Object {
		return nil, 0, invalid("it is no object but of type %s", doc.Nodes[root].Kind)
	}
	text := func(key string) string {
		if c := doc.Field(root, key); c != 0 && doc.Nodes[c].Kind == value.String {
			return doc.Str(c)
		}
		return ""
	}
	apiVersion, kind := text("apiVersion"), text("kind")
	if kind != d.inner.Kind {
		return nil, 0, invalid("it is of kind %q, and those of %s are of kind %s", kind, d.inner.Name, d.inner.Kind)
	}
	for _, own := range d.inner.Versions {
		if own.APIVersion != apiVersion {
			continue
		}
		if version != "" && version != own.Name {
			return nil, 0, invalid("it is of %s, and it is to be shown at %s: read or convert it to that version first", apiVersion, version)
		}
		v, err = d.served(own.Name)
		return v, root, err
	}
	return nil, 0, invalid("its apiVersion %q is of no version of %s", apiVersion, d.inner.Name)
}
