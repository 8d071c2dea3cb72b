package apiserver

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
)

// definitionStore serves the CRDs. It acknowledges a write of a CRD only after the lister has that state or a newer one, so
// that no older CRD evaluates a request that begins after the acknowledgement.
type definitionStore struct {
	*customresourcedefinition.REST
	lister listers.CustomResourceDefinitionLister
}

func (s definitionStore) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, o *metav1.CreateOptions,
) (runtime.Object, error) {
	created, err := s.REST.Create(ctx, obj, validate, o)
	if err == nil && len(o.DryRun) == 0 {
		err = s.await(ctx, created)
	}
	return created, err
}

func (s definitionStore) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, forceCreate bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	updated, created, err := s.REST.Update(ctx, name, info, create, update, forceCreate, o)
	if err == nil && len(o.DryRun) == 0 {
		err = s.await(ctx, updated)
	}
	return updated, created, err
}

func (s definitionStore) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	deleted, gone, err := s.REST.Delete(ctx, name, validate, o)
	if err == nil && (o == nil || len(o.DryRun) == 0) {
		err = s.await(ctx, deleted)
	}
	return deleted, gone, err
}

// uncached disables the watch cache of CRDs, which would have a second copy of each CRD besides that of the informer.
type uncached struct{ generic.RESTOptionsGetter }

func (u uncached) GetRESTOptions(r schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	o, err := u.RESTOptionsGetter.GetRESTOptions(r, example)
	o.Decorator = generic.UndecoratedStorage
	return o, err
}

// listerInterval is the time between two checks whether the lister has a CRD.
const listerInterval = 2 * time.Millisecond

// await waits until the lister has a written CRD. It fails at the end of the request, although the CRD is stored.
func (s definitionStore) await(ctx context.Context, obj runtime.Object) error {
	written, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil // a Status
	}
	err := wait.PollUntilContextCancel(ctx, listerInterval, true, func(ctx context.Context) (bool, error) {
		crd, err := s.lister.Get(written.Name)
		if apierrors.IsNotFound(err) {
			_, err = s.Get(ctx, written.Name, &metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil // it was deleted
		}
		if err != nil {
			return false, err
		}
		order, err := resourceversion.CompareResourceVersion(crd.ResourceVersion, written.ResourceVersion)
		return order >= 0, err
	})
	if err != nil && ctx.Err() != nil {
		return apierrors.NewTimeoutError(fmt.Sprintf("%s %q is stored, but does not take effect yet",
			apiextensionsv1.Resource("customresourcedefinitions"), written.Name), 1)
	}
	return err
}
