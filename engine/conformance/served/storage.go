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

// Opened is what the handler knows of a storage that it has opened: it opens one for each version of a definition.
type Opened struct {
	Codec runtime.Codec
	// NewObject makes an empty object of the version.
	NewObject func() runtime.Object
	// Attributes are what selectors see of an object.
	Attributes storage.AttrFunc
}

// Open opens a storage. It is the generic.RESTOptionsGetter of a Handler.
type Open func(Opened) storage.Interface

// codec is what apiextensions' NewCRDRESTOptionsGetter gives the storage of custom resources.
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

// Prefix is where the objects of a resource are in storage, as SimpleStorageFactory says.
func Prefix(resource schema.GroupResource) string {
	return "/" + resource.Group + "/" + resource.Resource
}
