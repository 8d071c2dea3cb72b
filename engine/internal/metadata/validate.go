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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Validate validates the metadata of a root object on create as a custom resource's strategy does. Errors are in the
// order of the fields; those about labels and annotations are sorted by key (upstream's order is random).
//
// Upstream: registry/customresource/validator.go, validateObjectMetaDeclaratively; and rest.ValidateCreate. If both
// find no error, it adds a weaker check, which cannot fail then.
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

// nameRequired is upstream's detail about an object without a name. API servers generate names before they validate, so
// an object with a generateName gets a detail of ours, notGenerated.
const (
	nameRequired = "name or generateName is required"
	notGenerated = "no name was generated from generateName: set generatedName to the generated name, or completeMetadata"
)

// generatedSuffix stands for the five random characters that a server appends to generateName.
const generatedSuffix = "00000"

// maxNameBase is how many bytes of generateName upstream keeps.
const maxNameBase = 63 - len(generatedSuffix)

// GeneratedName returns a name that a server may generate from generateName.
func GeneratedName(generateName string) string {
	return generateName[:min(len(generateName), maxNameBase)] + generatedSuffix
}

func validate(m *metav1.ObjectMeta, namespaced bool, name validation.ValidateNameFunc, at *field.Path) field.ErrorList {
	// The gate DeclarativeValidationBeta is on by default in 1.37. The declarative rules of ObjectMeta are alpha there,
	// so the handwritten ones apply.
	errs := validation.ValidateObjectMetaDeclaratively(context.Background(), operation.Create, m, nil, namespaced,
		name, at, true)
	inKeyOrder(errs, m, at)
	return errs
}

// inKeyOrder sorts errors about labels and annotations by key, since they come from Go maps. Errors about one key stay
// in upstream's order, and those about all annotations stay last.
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

// maxRanks is more than the number of errors about a map.
const maxRanks = 1 << 30

func reorder(errs field.ErrorList, at *field.Path, entries map[string]string,
	check func(key string, at *field.Path) field.ErrorList) {
	start := slices.IndexFunc(errs, func(err *field.Error) bool { return err.Field == at.String() })
	if start < 0 {
		return
	}
	end := start
	for end < len(errs) && errs[end].Field == errs[start].Field {
		end++
	}
	// Upstream reports equal errors once: two labels with the same invalid value cause one error.
	type text struct{ bad, detail string }
	of := func(err *field.Error) text { return text{fmt.Sprint(err.BadValue), err.Detail} }
	ranks := map[text]int{} // below 0; errors about all entries have no rank and stay last
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		for _, err := range check(key, at) {
			if _, known := ranks[of(err)]; !known {
				ranks[of(err)] = len(ranks) - maxRanks
			}
		}
	}
	slices.SortStableFunc(errs[start:end], func(a, b *field.Error) int { return cmp.Compare(ranks[of(a)], ranks[of(b)]) })
}

// ValidateEmbedded validates apiVersion, kind and metadata of the embedded resource at node obj with the path at.
//
// Upstream: apiserver/schema/objectmeta/validation.go, validateEmbeddedResource.
func ValidateEmbedded(d *tree.Doc, obj uint32, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range [...]string{"apiVersion", "kind"} {
		if d.Field(obj, key) == 0 {
			errs = append(errs, field.Required(at.Child(key), ""))
		}
	}
	for c := d.Nodes[obj].First; c != 0; c = d.Nodes[c].Next {
		switch d.Key(c) {
		case "apiVersion":
			errs = append(errs, validateText(d, c, at.Child("apiVersion"), checkAPIVersion)...)
		case "kind":
			errs = append(errs, validateText(d, c, at.Child("kind"), checkKind)...)
		case "metadata":
			errs = append(errs, validateEmbeddedMeta(d, c, at.Child("metadata"))...)
		}
	}
	return errs
}

// validateText validates a field that must be a string. check returns what is wrong with it, or "".
func validateText(d *tree.Doc, i uint32, at *field.Path, check func(string) string) field.ErrorList {
	if d.Nodes[i].Kind != tree.String {
		return field.ErrorList{field.Invalid(at, d.Any(i), "must be a string")}
	}
	s := strings.Clone(d.Str(i))
	if s == "" {
		return field.ErrorList{field.Invalid(at, s, "must not be empty")}
	}
	if detail := check(s); detail != "" {
		return field.ErrorList{field.Invalid(at, s, detail)}
	}
	return nil
}

func checkAPIVersion(s string) string {
	if _, err := schema.ParseGroupVersion(s); err != nil {
		return err.Error()
	}
	return ""
}

func checkKind(s string) string {
	if msgs := utilvalidation.IsDNS1035Label(strings.ToLower(s)); len(msgs) > 0 {
		return "may have mixed case, but should otherwise match: " + strings.Join(msgs, ",")
	}
	return ""
}

func validateEmbeddedMeta(d *tree.Doc, i uint32, at *field.Path) field.ErrorList {
	v := d.Any(i)
	m, _, err := decode(v, Options{})
	if err != nil {
		return field.ErrorList{field.Invalid(at, v, err.Error())}
	}
	if m.Name == "" {
		m.Name = "fakename" // a name is optional here
	}
	return validate(m, m.Namespace != "", pathSegment, at)
}

func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// PlainEmbedded reports without allocating whether ValidateEmbedded finds no error about the object at node obj.
func PlainEmbedded(d *tree.Doc, obj uint32) bool {
	version, kind := false, false
	for c := d.Nodes[obj].First; c != 0; c = d.Nodes[c].Next {
		switch d.Key(c) {
		case "apiVersion":
			if version = d.Nodes[c].Kind == tree.String && isGroupVersion(d.Str(c)); !version {
				return false
			}
		case "kind":
			if kind = d.Nodes[c].Kind == tree.String && isKind(d.Str(c)); !kind {
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

// isGroupVersion reports whether schema.ParseGroupVersion accepts s: it has at most one slash.
func isGroupVersion(s string) bool {
	slash := strings.IndexByte(s, '/')
	return s != "" && (slash < 0 || strings.IndexByte(s[slash+1:], '/') < 0)
}

// isKind reports whether s is a DNS-1035 label of any case: at most 63 letters, digits and inner dashes, starting with
// a letter.
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

// FromTree makes an ObjectMeta from metadata that is not coerced, as a custom resource's strategy does before it
// validates.
//
// Upstream: registry/customresource/validator.go, getObjectMeta.
func FromTree(d *tree.Doc, meta uint32) (*metav1.ObjectMeta, field.ErrorList) {
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

// HasUnreadableManagedFields reports whether the accessor of managed fields ignores those of an object: they are no list
// of entries, or contain null.
//
// Upstream: apimachinery, unstructured.go, GetManagedFields.
func HasUnreadableManagedFields(d *tree.Doc, meta uint32) bool {
	list := d.Field(meta, "managedFields")
	if list == 0 {
		return false
	}
	if d.Nodes[list].Kind != tree.Array {
		return true
	}
	for i := d.Nodes[list].First; i != 0; i = d.Nodes[i].Next {
		entry, ok := d.Any(i).(map[string]any)
		if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(entry, &metav1.ManagedFieldsEntry{}) != nil {
			return true
		}
	}
	return false
}

// Accessed makes an ObjectMeta without managed fields from what the accessors of an object return. A value of another
// type counts as absent.
//
// Upstream: apimachinery, unstructured.go.
func Accessed(d *tree.Doc, meta uint32) *metav1.ObjectMeta {
	u := unstructured.Unstructured{Object: map[string]any{"metadata": d.Any(meta)}}
	return &metav1.ObjectMeta{
		Name: u.GetName(), GenerateName: u.GetGenerateName(), Namespace: u.GetNamespace(), SelfLink: u.GetSelfLink(),
		UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Generation: u.GetGeneration(),
		CreationTimestamp: u.GetCreationTimestamp(), DeletionTimestamp: u.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: u.GetDeletionGracePeriodSeconds(), Labels: u.GetLabels(),
		Annotations: u.GetAnnotations(), OwnerReferences: u.GetOwnerReferences(), Finalizers: u.GetFinalizers(),
	}
}
