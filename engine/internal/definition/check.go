package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// check validates the spec in upstream's order.
// (validation.go, validateCustomResourceDefinitionSpec)
func (s *spec) check(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	add := func(list ...*field.Error) { errs = append(errs, list...) }

	switch texts := utilvalidation.IsDNS1123Subdomain(s.group); {
	case s.group == "":
		add(field.Required(path.Child("group"), ""))
	case len(texts) > 0:
		add(field.Invalid(path.Child("group"), s.group, strings.Join(texts, ",")))
	case !strings.Contains(s.group, ".") && quirk.On(quirk.NamingConventions):
		add(field.Invalid(path.Child("group"), s.group, "should be a domain with at least one dot"))
	}
	add(oneOf(path.Child("scope"), string(s.scope), string(apiextensionsv1.ClusterScoped), string(apiextensionsv1.NamespaceScoped))...)
	add(s.checkSchemas(path.Child("versions"))...)
	defaults := s.hasDefaults()
	s.structural = !s.preserveUnknownFields || defaults || s.hasKubernetesExtensions() || !s.ratchet.nonStructural()
	if s.preserveUnknownFields && defaults {
		add(field.Invalid(path.Child("preserveUnknownFields"), true, "must be false in order to use defaults in the schema"))
	}
	for i := range s.versions {
		add(s.checkVersion(i, path.Child("versions").Index(i))...)
	}
	add(versions(s, path)...)

	for _, name := range []struct{ field, value string }{
		{"plural", s.names.Plural}, {"singular", s.names.Singular}, {"kind", s.names.Kind}, {"listKind", s.names.ListKind},
	} {
		if name.value == "" {
			add(field.Required(path.Child("names", name.field), ""))
		}
	}
	add(names(&s.names, path.Child("names"))...)
	add(s.checkSchema(s.validation, s.version, s.anyStatus(), path.Child("validation"))...)
	add(subresources(s.subresources, path.Child("subresources"))...)
	add(columnList(s.additionalPrinterColumns, path.Child("additionalPrinterColumns"))...)
	if len(s.selectableFields) > 0 {
		if s.validation == nil {
			add(field.Invalid(path.Child("selectableFields"), "", "may only be set when validations.schema is included"))
		} else {
			add(s.selectable(s.selectableFields, s.validation.OpenAPIV3Schema, path, "")...)
		}
	}
	if s.conversion != nil && s.conversion.strategy != apiextensionsv1.NoneConverter && s.preserveUnknownFields {
		add(field.Invalid(path.Child("conversion").Child("strategy"), s.conversion.strategy, "must be None if spec.preserveUnknownFields is true"))
	}
	add(s.conversion.check(path.Child("conversion"), s.ratchet)...)
	return errs
}

// checkSchemas checks that each version has a schema. If the stored CRD lacks one, only served versions of a CRD that
// prunes need a schema.
func (s *spec) checkSchemas(path *field.Path) field.ErrorList {
	if s.validation != nil && s.validation.OpenAPIV3Schema != nil {
		return nil
	}
	var errs field.ErrorList
	for i := range s.versions {
		if schema.Of(&s.versions[i]) != nil {
			continue
		}
		at := path.Index(i).Child("schema", "openAPIV3Schema")
		switch {
		case !s.ratchet.noSchema:
			errs = append(errs, field.Required(at, ""))
		case !s.preserveUnknownFields && s.versions[i].Served:
			errs = append(errs, field.Required(at, "because otherwise all fields are pruned"))
		}
	}
	return errs
}

// oneOf checks that text is one of the accepted values.
func oneOf(path *field.Path, text string, accepted ...string) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if slices.Contains(accepted, text) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, text, accepted)}
}

// stored returns the stored versions of the status with the storage version. If several versions have storage set, the
// first counts.
func (s *spec) stored(before []string) []string {
	for i := range s.versions {
		if s.versions[i].Storage {
			return withStored(before, s.versions[i].Name)
		}
	}
	return before
}

func (s *spec) hasDefaults() bool {
	return slices.ContainsFunc(s.schemas(), schema.HasDefaults)
}

// anyStatus reports whether any version has the status subresource.
func (s *spec) anyStatus() bool {
	return hasStatus(s.subresources) || s.anyVersion(func(v *crdVersion) bool { return hasStatus(v.Subresources) })
}

func hasStatus(s *apiextensionsv1.CustomResourceSubresources) bool {
	return s != nil && s.Status != nil
}
