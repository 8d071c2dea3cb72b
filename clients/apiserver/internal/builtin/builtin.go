// Package builtin serves Go types of k8s.io/api as resources of an API server, in one version each. scheme.go registers
// the types, store.go stores them, table.go prints them, and openapi.go describes them.
package builtin

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// NewScheme returns a Scheme without types. It has the options of requests.
func NewScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}

// Register adds the types of a version of a group. The types are the internal version too, so nothing is converted.
func Register(s *runtime.Scheme, version schema.GroupVersion, types ...runtime.Object) {
	RegisterConverted(s, version, types...)
	s.AddKnownTypes(schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal}, types...)
}

// RegisterConverted adds the types of a version of a group. The caller adds the internal version and its conversions.
func RegisterConverted(s *runtime.Scheme, version schema.GroupVersion, types ...runtime.Object) {
	s.AddKnownTypes(version, types...)
	metav1.AddToGroupVersion(s, version)
	utilruntime.Must(s.SetVersionPriority(version))
}

// Group returns a group that serves resources and their subresources in one version.
func Group(s *runtime.Scheme, version schema.GroupVersion, resources map[string]rest.Storage) *genericapiserver.APIGroupInfo {
	group := genericapiserver.NewDefaultAPIGroupInfo(version.Group, s, metav1.ParameterCodec, serializer.NewCodecFactory(s))
	group.VersionedResourcesStorageMap[version.Version] = resources
	return &group
}
