package definition

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// checkVersion checks the name of one version and the parts that versions do not share.
// (validation.go, validateCustomResourceDefinitionVersion)
func (s *spec) checkVersion(i int, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	v := &s.versions[i]
	if texts := utilvalidation.IsDNS1035Label(v.Name); len(texts) > 0 {
		errs = append(errs, field.Invalid(path.Child("name"), v.Name, strings.Join(texts, ",")))
	}
	for _, text := range deprecationWarning(v.Deprecated, v.DeprecationWarning) {
		errs = append(errs, field.Invalid(path.Child("deprecationWarning"), v.DeprecationWarning, text))
	}
	errs = append(errs, s.checkSchema(v.Schema, v.Name, hasStatus(s.subresourcesOf(v.Name)), path.Child("schema"))...)
	errs = append(errs, subresources(v.Subresources, path.Child("subresources"))...)
	errs = append(errs, columnList(v.AdditionalPrinterColumns, path.Child("additionalPrinterColumns"))...)
	if len(v.SelectableFields) > 0 {
		if schema.Of(v) == nil {
			errs = append(errs, field.Invalid(path.Child("selectableFields"), "", "may only be set when `version.schema.openAPIV3Schema` is not included"))
		} else {
			errs = append(errs, s.selectable(v.SelectableFields, schema.Of(v), path, v.Name)...)
		}
	}
	return errs
}

// subresourcesOf returns the subresources of a version. The first of several versions with the same name counts.
func (s *spec) subresourcesOf(version string) *apiextensionsv1.CustomResourceSubresources {
	if !s.anyVersion(func(v *crdVersion) bool { return v.Subresources != nil }) {
		return s.subresources
	}
	for i := range s.versions {
		if s.versions[i].Name == version {
			return s.versions[i].Subresources
		}
	}
	return nil
}

func (s *spec) anyVersion(has func(*crdVersion) bool) bool {
	for i := range s.versions {
		if has(&s.versions[i]) {
			return true
		}
	}
	return false
}

// deprecationWarning returns the errors of a deprecation warning. It may have at most 256 bytes.
func deprecationWarning(deprecated bool, warning *string) []string {
	switch {
	case warning == nil:
		return nil
	case !deprecated:
		return []string{"can only be set for deprecated versions"}
	}
	var texts []string
	if len(*warning) > 256 {
		texts = append(texts, "must be <= 256 characters long")
	}
	if *warning == "" {
		texts = append(texts, "must not be an empty string")
	}
	for i, r := range *warning {
		if !unicode.IsPrint(r) {
			texts = append(texts, fmt.Sprintf("must only contain printable UTF-8 characters; non-printable character found at index %d", i))
			break
		}
	}
	if !utf8.ValidString(*warning) {
		texts = append(texts, "must only contain printable UTF-8 characters")
	}
	return texts
}

// versions checks the versions of a CRD as a set. Only a v1beta1 manifest can set a part both at the top level and in a
// version.
func versions(s *spec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	add := func(e *field.Error) { errs = append(errs, e) }

	hasSchema := s.anyVersion(func(v *crdVersion) bool { return v.Schema != nil })
	hasSubresources := s.anyVersion(func(v *crdVersion) bool { return v.Subresources != nil })
	hasColumns := s.anyVersion(func(v *crdVersion) bool {
		return len(v.AdditionalPrinterColumns) > 0
	})
	parts := []struct {
		field, plural   string
		above, in, same bool
	}{
		{"validation", "schemas", s.validation != nil, hasSchema, hasSchema && shared(s.versions, schemaPart)},
		{"subresources", "subresources", s.subresources != nil, hasSubresources,
			hasSubresources && shared(s.versions, subresourcesPart)},
		{"additionalPrinterColumns", "additionalPrinterColumns", len(s.additionalPrinterColumns) > 0, hasColumns,
			hasColumns && shared(s.versions, columnsPart)},
	}
	for _, p := range parts {
		if p.above && p.in {
			add(field.Forbidden(path.Child(p.field), "top-level and per-version "+p.plural+" are mutually exclusive"))
		}
	}
	for _, p := range parts {
		if p.same {
			add(field.Invalid(path.Child("versions"), printVersions(s.versions), "per-version "+p.plural+
				" may not all be set to identical values (top-level "+p.field+" should be used instead)"))
		}
	}

	storage, names := 0, map[string]bool{}
	for i := range s.versions {
		names[s.versions[i].Name] = true
		if s.versions[i].Storage {
			storage++
		}
	}
	if len(names) != len(s.versions) {
		add(field.Invalid(path.Child("versions"), printVersions(s.versions), "must contain unique version names"))
	}
	if storage != 1 {
		add(field.Invalid(path.Child("versions"), printVersions(s.versions), "must have exactly one version marked as storage version"))
	}
	if s.version != "" {
		if texts := utilvalidation.IsDNS1035Label(s.version); len(texts) > 0 {
			add(field.Invalid(path.Child("version"), s.version, strings.Join(texts, ",")))
		}
		if len(s.versions) >= 1 && s.versions[0].Name != s.version {
			add(field.Invalid(path.Child("version"), s.version, "must match the first version in spec.versions"))
		}
	}
	return errs
}

// storedVersions checks that the stored versions of the status include the storage version, and that spec.versions has
// all of them. As in upstream, each version removes its name from the list, so a second storage version of the same
// name counts as missing. Upstream reports the remaining names in random order.
// (validation.go, ValidateCustomResourceDefinitionStoredVersions)
func storedVersions(stored []string, versions []crdVersion, path *field.Path) field.ErrorList {
	if len(stored) == 0 {
		return field.ErrorList{field.Invalid(path, stored, "must have at least one stored version")}
	}
	last := make(map[string]int, len(stored))
	for i, name := range stored {
		last[name] = i
	}
	var errs field.ErrorList
	for i := range versions {
		v := &versions[i]
		if _, here := last[v.Name]; !here && v.Storage {
			errs = append(errs, field.Invalid(path, stored, "must have the storage version "+v.Name))
		}
		delete(last, v.Name)
	}
	for i, name := range stored {
		if at, left := last[name]; left && at == i {
			errs = append(errs, field.Invalid(path.Index(i), name, fmt.Sprintf("missing from spec.versions; %[1]s was previously a storage version, "+
				"and must remain in spec.versions until a storage migration ensures no data remains persisted in %[1]s and removes %[1]s from status.storedVersions", name)))
		}
	}
	return errs
}

// printVersions returns versions in the form that field errors show; see schema.Print.
func printVersions(versions []crdVersion) (list []apiextensions.CustomResourceDefinitionVersion) {
	if versions != nil {
		list = make([]apiextensions.CustomResourceDefinitionVersion, 0, len(versions)) // not nil: [] is not null
	}
	for i := range versions {
		list = append(list, *schema.Print(&versions[i],
			apiextensionsv1.Convert_v1_CustomResourceDefinitionVersion_To_apiextensions_CustomResourceDefinitionVersion))
	}
	return list
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
