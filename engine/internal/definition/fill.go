package definition

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// setDefaults sets the API server's defaults of a v1 manifest.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go)
func setDefaults(crd *apiextensionsv1.CustomResourceDefinition) {
	spec := &crd.Spec
	defaultNames(&spec.Names)
	if spec.Conversion == nil {
		spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	if w := spec.Conversion.Webhook; w != nil && w.ClientConfig != nil {
		defaultPort(w.ClientConfig.Service)
	}
	if len(crd.Status.StoredVersions) == 0 {
		if v := schema.Storage(crd); v != nil {
			crd.Status.StoredVersions = []string{v.Name}
		}
	}
	crd.TypeMeta = metav1.TypeMeta{APIVersion: apiVersionV1, Kind: kind}
}

func defaultNames(names *apiextensionsv1.CustomResourceDefinitionNames) {
	if names.Singular == "" {
		names.Singular = strings.ToLower(names.Kind)
	}
	if names.ListKind == "" && names.Kind != "" {
		names.ListKind = names.Kind + "List"
	}
}

func defaultPort(service *apiextensionsv1.ServiceReference) {
	if service != nil && service.Port == nil {
		port := int32(443)
		service.Port = &port
	}
}
