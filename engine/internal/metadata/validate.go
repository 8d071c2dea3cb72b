package metadata

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/internal/value"
)

// Decode makes an ObjectMeta of coerced metadata; node 0 makes an empty one.
func Decode(d *value.Doc, meta uint32) (*metav1.ObjectMeta, error) {
	if meta == 0 {
		return &metav1.ObjectMeta{}, nil
	}
	m, _, err := decode(d.Any(meta), Options{})
	return m, err
}

// Validate checks the metadata of a root object on create as a custom resource's strategy does: the findings, in the order
// of the fields, those about labels and annotations in the order of their keys (upstream's is random).
//
// Upstream: registry/customresource/validator.go, validateObjectMetaDeclaratively; and rest.ValidateCreate, which runs a
// second, weaker check if nothing at all was found (it finds nothing then).
func Validate(m *metav1.ObjectMeta, namespaced bool) field.ErrorList {
	errs := validate(m, namespaced, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if m.Name == "" && m.GenerateName != "" {
		for _, err := range errs {
			if err.Detail == nameRequired {
				err.Detail = notGenerated
			}
		}
	}
	return errs
}

// nameRequired is upstream's detail about an object without a name. An API server has generated the name by then, so an
// object with a generateName gets a detail of ours, notGenerated.
const (
	nameRequired = "name or generateName is required"
	notGenerated = "no name was generated from generateName: set generatedName to the generated name, or completeMetadata"
)

func validate(m *metav1.ObjectMeta, namespaced bool, name validation.ValidateNameFunc, at *field.Path) field.ErrorList {
	// The gate DeclarativeValidationBeta is on by default in 1.37; the declarative rules of ObjectMeta are alpha there, so
	// that the handwritten ones speak.
	errs := validation.ValidateObjectMetaDeclaratively(context.Background(), operation.Create, m, nil, namespaced, name, at, true)
	inKeyOrder(errs, m, at)
	return errs
}

// inKeyOrder puts the findings about labels and annotations, which came out of Go maps, into the order of the keys. Those about
// one key stay in upstream's order, and what is said about all annotations stays behind.
func inKeyOrder(errs field.ErrorList, m *metav1.ObjectMeta, at *field.Path) {
	if len(errs) < 2 {
		return
	}
	reorder(errs, at.Child("labels"), m.Labels, func(key string, at *field.Path) field.ErrorList {
		return metav1validation.ValidateLabels(map[string]string{key: m.Labels[key]}, at)
	})
	reorder(errs, at.Child("annotations"), m.Annotations, func(key string, at *field.Path) field.ErrorList {
		found := validation.ValidateAnnotations(map[string]string{key: ""}, at)
		return slices.DeleteFunc(found, func(err *field.Error) bool { return err.Type == field.ErrorTypeTooLong })
	})
}

func reorder(errs field.ErrorList, at *field.Path, entries map[string]string, check func(key string, at *field.Path) field.ErrorList) {
	start := slices.IndexFunc(errs, func(err *field.Error) bool { return err.Field == at.String() })
	if start < 0 {
		return
	}
	end := start
	for end < len(errs) && errs[end].Field == errs[start].Field {
		end++
	}
	// Upstream has findings that are alike once: two labels with one bad value make one. So those that are there are sorted, and
	// what is said about all entries comes last.
	type said struct{ bad, detail string }
	what := func(err *field.Error) said { return said{fmt.Sprint(err.BadValue), err.Detail} }
	ranks := map[said]int{}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		for _, err := range check(key, at) {
			if _, known := ranks[what(err)]; !known {
				ranks[what(err)] = len(ranks)
			}
		}
	}
	rank := func(err *field.Error) int {
		if r, known := ranks[what(err)]; known {
			return r
		}
		return len(ranks)
	}
	slices.SortStableFunc(errs[start:end], func(a, b *field.Error) int { return cmp.Compare(rank(a), rank(b)) })
}

// ValidateEmbedded checks apiVersion, kind and metadata of the embedded resource at node obj, which stands at path at.
//
// Upstream: apiserver/schema/objectmeta/validation.go, validateEmbeddedResource.
func ValidateEmbedded(d *value.Doc, obj uint32, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if d.Field(obj, "apiVersion") == 0 {
		errs = append(errs, field.Required(at.Child("apiVersion"), ""))
	}
	if d.Field(obj, "kind") == 0 {
		errs = append(errs, field.Required(at.Child("kind"), ""))
	}
	for c := d.Nodes[obj].First; c != 0; c = d.Nodes[c].Next {
		switch d.Key(c) {
		case "apiVersion":
			errs = append(errs, validateAPIVersion(d, c, at.Child("apiVersion"))...)
		case "kind":
			errs = append(errs, validateKind(d, c, at.Child("kind"))...)
		case "metadata":
			errs = append(errs, validateEmbeddedMeta(d, c, at.Child("metadata"))...)
		}
	}
	return errs
}

func validateAPIVersion(d *value.Doc, i uint32, at *field.Path) field.ErrorList {
	if d.Nodes[i].Kind != value.String {
		return field.ErrorList{field.Invalid(at, d.Any(i), "must be a string")}
	}
	s := strings.Clone(d.Str(i))
	if s == "" {
		return field.ErrorList{field.Invalid(at, s, "must not be empty")}
	}
	if _, err := schema.ParseGroupVersion(s); err != nil {
		return field.ErrorList{field.Invalid(at, s, err.Error())}
	}
	return nil
}

func validateKind(d *value.Doc, i uint32, at *field.Path) field.ErrorList {
	if d.Nodes[i].Kind != value.String {
		return field.ErrorList{field.Invalid(at, d.Any(i), "must be a string")}
	}
	s := strings.Clone(d.Str(i))
	if s == "" {
		return field.ErrorList{field.Invalid(at, s, "must not be empty")}
	}
	if msgs := utilvalidation.IsDNS1035Label(strings.ToLower(s)); len(msgs) > 0 {
		return field.ErrorList{field.Invalid(at, s, "may have mixed case, but should otherwise match: "+strings.Join(msgs, ","))}
	}
	return nil
}

func validateEmbeddedMeta(d *value.Doc, i uint32, at *field.Path) field.ErrorList {
	v := d.Any(i)
	m, _, err := decode(v, Options{})
	if err != nil {
		return field.ErrorList{field.Invalid(at, v, err.Error())}
	}
	if m.Name == "" {
		m.Name = "fakename" // no name is fine here, and this one always is
	}
	return validate(m, m.Namespace != "", pathSegment, at)
}

func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// PlainEmbedded reports, without allocating, that ValidateEmbedded would find nothing about the object at node obj.
func PlainEmbedded(d *value.Doc, obj uint32) bool {
	version, kind := false, false
	for c := d.Nodes[obj].First; c != 0; c = d.Nodes[c].Next {
		switch d.Key(c) {
		case "apiVersion":
			if version = d.Nodes[c].Kind == value.String && isGroupVersion(d.Str(c)); !version {
				return false
			}
		case "kind":
			if kind = d.Nodes[c].Kind == value.String && isKind(d.Str(c)); !kind {
				return false
			}
		case "metadata":
			if !Plain(d, c, Rules{Embedded: true}) {
				return false
			}
		}
	}
	return version && kind
}

// isGroupVersion has one slash at most; schema.ParseGroupVersion asks no more.
func isGroupVersion(s string) bool {
	slash := strings.IndexByte(s, '/')
	return s != "" && (slash < 0 || strings.IndexByte(s[slash+1:], '/') < 0)
}

// isKind is a DNS-1035 label but for case: at most 63 ASCII letters, digits and inner dashes, a letter first.
func isKind(s string) bool {
	if len(s) == 0 || len(s) > 63 || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// FromTree makes an ObjectMeta of metadata that nobody coerced, as a custom resource's strategy does before it validates.
//
// Upstream: registry/customresource/validator.go, getObjectMeta.
func FromTree(d *value.Doc, meta uint32) (*metav1.ObjectMeta, field.ErrorList) {
	m := &metav1.ObjectMeta{}
	raw := d.Any(meta)
	if raw == nil {
		return m, nil
	}
	at := field.NewPath("metadata")
	object, ok := raw.(map[string]any)
	if !ok {
		return nil, field.ErrorList{field.Invalid(at, raw, fmt.Sprintf("expected map[string]interface{}, got %T", raw))}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, m); err != nil {
		return nil, field.ErrorList{field.Invalid(at, raw, err.Error())}
	}
	return m, nil
}
