package schema

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"
)

// Priority returns the indexes of a CRD's versions in Kubernetes version order: GA before beta before alpha, newer
// before older, then all other names alphabetically. The sort is stable.
func Priority(versions []apiextensionsv1.CustomResourceDefinitionVersion) []int {
	order := make([]int, len(versions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return version.CompareKubeAwareVersionStrings(versions[b].Name, versions[a].Name)
	})
	return order
}

// Find returns the version with that name, or nil.
func Find(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	return first(crd, func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
}

// Storage returns the storage version, or nil. An accepted CRD always has one.
func Storage(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionVersion {
	return first(crd, func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
}

func first(crd *apiextensionsv1.CustomResourceDefinition,
	is func(*apiextensionsv1.CustomResourceDefinitionVersion) bool) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if is(&crd.Spec.Versions[i]) {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// Of returns the schema of a version, or nil.
func Of(v *apiextensionsv1.CustomResourceDefinitionVersion) *Props {
	if v == nil || v.Schema == nil {
		return nil
	}
	return v.Schema.OpenAPIV3Schema
}

// HasStatus reports whether a version has the status subresource.
func HasStatus(v *apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return v.Subresources != nil && v.Subresources.Status != nil
}

// ScaleOf returns the scale subresource of a version, or nil.
func ScaleOf(v *apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceSubresourceScale {
	if v == nil || v.Subresources == nil {
		return nil
	}
	return v.Subresources.Scale
}

// Deprecation returns the warning for requests to a deprecated version, or "". It is the CRD's own text, or a default
// text that names the highest served, non-deprecated version if that has a higher priority.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go, defaultDeprecationWarning)
func Deprecation(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) string {
	if !v.Deprecated {
		return ""
	}
	if v.DeprecationWarning != nil {
		return *v.DeprecationWarning
	}
	spec := &crd.Spec
	text := spec.Group + "/" + v.Name + " " + spec.Names.Kind + " is deprecated"
	for _, i := range Priority(spec.Versions) {
		w := &spec.Versions[i]
		if w.Served && !w.Deprecated && version.CompareKubeAwareVersionStrings(v.Name, w.Name) < 0 {
			return text + "; use " + spec.Group + "/" + w.Name + " " + spec.Names.Kind
		}
	}
	return text
}
