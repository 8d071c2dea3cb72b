package served

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/recognizer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// Opened describes a storage that the handler opened. It opens one for each version of a CRD.
type Opened struct {
	Codec runtime.Codec
	// NewObject returns an empty object of the version.
	NewObject func() runtime.Object
	// Attributes returns the labels and fields of an object that selectors use.
	Attributes storage.AttrFunc
}

// Open opens a storage. It is the generic.RESTOptionsGetter of a Handler.
type Open func(Opened) storage.Interface

// codec is that of NewCRDRESTOptionsGetter of apiextensions.
var codec = runtime.NewCodec(unstructured.UnstructuredJSONScheme, recognizer.NewDecoder(
	cbor.NewSerializer(unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper()), unstructured.UnstructuredJSONScheme))

// GetRESTOptions implements generic.RESTOptionsGetter.
func (open Open) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig:  (&storagebackend.Config{Codec: codec}).ForResource(resource),
		ResourcePrefix: Prefix(resource),
		Decorator: func(c *storagebackend.ConfigForResource, _ string, _ func(runtime.Object) (string, error), newObject, _ func() runtime.Object, attributes storage.AttrFunc,
			_ storage.IndexerFuncs, _ *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return open(Opened{Codec: c.Codec, NewObject: newObject, Attributes: attributes}), func() {}, nil
		},
	}, nil
}

// Prefix is the path of a resource's objects in storage, as in SimpleStorageFactory.
func Prefix(resource schema.GroupResource) string {
	return "/" + resource.Group + "/" + resource.Resource
}
