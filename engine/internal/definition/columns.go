package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

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
