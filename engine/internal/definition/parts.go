package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// names checks the names of a CRD that are set. The check of the spec reports missing ones.
// (validation.go, ValidateCustomResourceDefinitionNames)
func names(n *apiextensionsv1.CustomResourceDefinitionNames, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	label := func(path *field.Path, name, text, prefix string) {
		if bad := utilvalidation.IsDNS1035Label(text); len(bad) > 0 {
			errs = append(errs, field.Invalid(path, name, prefix+strings.Join(bad, ",")))
		}
	}
	const mixedCase = "may have mixed case, but should otherwise match: "
	for _, part := range []struct{ field, name, text, prefix string }{
		{"plural", n.Plural, n.Plural, ""}, {"singular", n.Singular, n.Singular, ""},
		{"kind", n.Kind, strings.ToLower(n.Kind), mixedCase},
		{"listKind", n.ListKind, strings.ToLower(n.ListKind), mixedCase},
	} {
		if part.name != "" {
			label(path.Child(part.field), part.name, part.text, part.prefix)
		}
	}
	for i, name := range n.ShortNames {
		label(path.Child("shortNames").Index(i), name, name, "")
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		errs = append(errs, field.Invalid(path.Child("listKind"), n.ListKind, "kind and listKind may not be the same"))
	}
	for i, name := range n.Categories {
		label(path.Child("categories").Index(i), name, name, "")
	}
	return errs
}

var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

// columnList checks printer columns. As in upstream, field errors spell jsonPath as JSONPath.
// (validation.go, ValidateCustomResourceColumnDefinition)
func columnList(list []apiextensionsv1.CustomResourceColumnDefinition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		c, at := &list[i], path.Index(i)
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		mustBe := "must be one of " + strings.Join(columnTypes, ",")
		if c.Type == "" {
			errs = append(errs, field.Required(at.Child("type"), mustBe))
		} else if !slices.Contains(columnTypes, c.Type) {
			errs = append(errs, field.Invalid(at.Child("type"), c.Type, mustBe))
		}
		if c.Format != "" && !slices.Contains(columnFormats, c.Format) {
			errs = append(errs, field.Invalid(at.Child("format"), c.Format, "must be one of "+strings.Join(columnFormats, ",")))
		}
		if c.JSONPath == "" {
			errs = append(errs, field.Required(at.Child(jsonPathSpelling()), ""))
		} else {
			errs = append(errs, simplePath(c.JSONPath, at.Child(jsonPathSpelling()))...)
		}
	}
	return errs
}

func jsonPathSpelling() string {
	if quirk.On(quirk.InternalFieldNames) {
		return "JSONPath"
	}
	return "jsonPath"
}

// simplePath checks that a path starts with a dot, as upstream does.
func simplePath(s string, path *field.Path) field.ErrorList {
	if s[0] != '.' {
		return field.ErrorList{field.Invalid(path, s, "must be a simple json path starting with .")}
	}
	return nil
}

// subresources checks the paths of the scale subresource.
// (validation.go, ValidateCustomResourceDefinitionSubresources)
func subresources(s *apiextensionsv1.CustomResourceSubresources, path *field.Path) field.ErrorList {
	if s == nil || s.Scale == nil {
		return nil
	}
	var errs field.ErrorList
	required := func(s, name, root string) {
		at := path.Child("scale." + name)
		if s == "" {
			errs = append(errs, field.Required(at, ""))
		} else if bad := simplePath(s, at); len(bad) > 0 {
			errs = append(errs, bad...)
		} else if !strings.HasPrefix(s, "."+root+".") {
			errs = append(errs, field.Invalid(at, s, "should be a json path under ."+root))
		}
	}
	required(s.Scale.SpecReplicasPath, "specReplicasPath", "spec")
	required(s.Scale.StatusReplicasPath, "statusReplicasPath", "status")
	if selector := s.Scale.LabelSelectorPath; selector != nil && *selector != "" {
		at := path.Child("scale.labelSelectorPath")
		if bad := simplePath(*selector, at); len(bad) > 0 {
			errs = append(errs, bad...)
		} else if !strings.HasPrefix(*selector, ".spec.") && !strings.HasPrefix(*selector, ".status.") {
			errs = append(errs, field.Invalid(at, selector, "should be a json path under either .spec or .status"))
		}
	}
	return errs
}
