package oracle

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// scheme knows the CustomResourceDefinition types and the unversioned meta types, as the scheme of upstream's
// apiserver package does (apiserver.go, init).
var scheme, codecs = newScheme()

func newScheme() (*runtime.Scheme, serializer.CodecFactory) {
	s := runtime.NewScheme()
	install.Install(s)
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(s, v1)
	s.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.WatchEvent{}, &metav1.APIVersions{}, &metav1.APIGroupList{},
		&metav1.APIGroup{}, &metav1.APIResourceList{})
	return s, serializer.NewCodecFactory(s)
}
