package schema

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"
)

// Priority returns the indexes of a CRD's versions in Kubernetes' order: versions like v1, v2beta1 first, among them
// those generally available before beta before alpha and newer before older, then all other names in the order of the
// alphabet. Versions of one name keep their order.
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

// Find returns the version of that name, nil if there is none.
func Find(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// Storage returns the version that objects are stored at, nil if there is none. An accepted CRD has one.
func Storage(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Storage {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// Of returns the schema of a version, nil if it has none.
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

// Deprecation returns the warning that every request to a deprecated version is answered with, "" if the version is not
// deprecated: the CRD's own text, or one that points to the served version of the highest priority that is not
// deprecated and ranks above it.
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
