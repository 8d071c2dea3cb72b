package oracle

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// crdeval does not track field ownership. But rules can observe it: an object with managed fields has one more member
// in its metadata than the old object. Therefore the field managers of the handlers get a type converter that knows no
// types. With it they leave the managed fields unchanged.

// untyped is a managedfields.TypeConverter without types.
type untyped struct{}

var errUntyped = errors.New("the oracle tracks no fields")

// ObjectToTyped implements managedfields.TypeConverter.
func (untyped) ObjectToTyped(runtime.Object, ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return nil, errUntyped
}

// TypedToObject implements managedfields.TypeConverter.
func (untyped) TypedToObject(*typed.TypedValue) (runtime.Object, error) { return nil, errUntyped }

// untrack makes the handler prepare the definition (getOrCreateServingInfoFor, at the first request), and removes the
// field managers from the result. handler is upstream's *crdHandler, whose fields are not exported: customStorage
// contains a crdStorageMap of *crdInfo, and these contain the request scopes by version.
func untrack(handler http.Handler, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, v := range crd.Spec.Versions {
		if v.Served {
			unknown := request.RequestInfo{IsResourceRequest: true, APIGroup: crd.Spec.Group, APIVersion: v.Name, Resource: crd.Spec.Names.Plural, Verb: "none"}
			if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
				unknown.Namespace = "default"
			}
			q := httptest.NewRequest(http.MethodGet, "http://server/", nil) //nolint:noctx // the next line gives it one
			handler.ServeHTTP(httptest.NewRecorder(), q.WithContext(request.WithRequestInfo(q.Context(), &unknown)))
			break
		}
	}
	storage := reflect.ValueOf(handler).Elem().FieldByName("customStorage")
	if !storage.IsValid() || storage.Type() != reflect.TypeFor[atomic.Value]() {
		return errors.New("upstream's handler keeps what it prepares elsewhere")
	}
	infos := reflect.ValueOf((*atomic.Value)(storage.Addr().UnsafePointer()).Load())
	for _, uid := range infos.MapKeys() {
		for _, field := range []string{"requestScopes", "statusRequestScopes", "scaleRequestScopes"} {
			scopes := infos.MapIndex(uid).Elem().FieldByName(field)
			if !scopes.IsValid() || scopes.Type() != reflect.TypeFor[map[string]*handlers.RequestScope]() {
				return fmt.Errorf("upstream's crdInfo has no %s", field)
			}
			for _, version := range scopes.MapKeys() {
				if err := unmanage((*handlers.RequestScope)(scopes.MapIndex(version).UnsafePointer())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func unmanage(scope *handlers.RequestScope) (err error) {
	scope.FieldManager, err = managedfields.NewDefaultCRDFieldManager(untyped{}, scope.Convertor, scope.Defaulter, scope.Creater, scope.Kind, scope.HubGroupVersion, scope.Subresource, nil)
	return err
}
