package apiserver

import (
	"net/http"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	informers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/establish"
	"k8s.io/apiextensions-apiserver/pkg/controller/finalizer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"
)

// handler serves the custom resources of the CRDs in an informer.
type handler struct {
	admission   admission.Interface
	establish   *establish.EstablishingController
	watchPeriod time.Duration // the minimum period after which a watch ends
	next        http.Handler
	evaluator   Evaluator
	*resources
}

// watch makes the handler follow the informer.
func (h *handler) watch(informer informers.CustomResourceDefinitionInformer) error {
	queue := func(obj any) {
		crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		if ok && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) && !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			h.establish.QueueCRD(crd.Name, 0)
		}
	}
	deleted := func(obj any) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
			h.remove(crd)
		}
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: queue,
		UpdateFunc: func(old, obj any) {
			if isReplaced(old, obj) {
				deleted(old)
			}
			queue(obj)
		},
		DeleteFunc: deleted,
	})
	return err
}

// isReplaced reports whether a CRD was deleted and created again while the informer had no watch.
func isReplaced(old, obj any) bool {
	a, isA := old.(*apiextensionsv1.CustomResourceDefinition)
	b, isB := obj.(*apiextensionsv1.CustomResourceDefinition)
	return isA && isB && a.UID != b.UID
}

// remove retires the resource of a deleted CRD, and then removes the CRD from a remote evaluator.
func (h *handler) remove(crd *apiextensionsv1.CustomResourceDefinition) {
	retired := h.retire(crd.UID)
	remote, ok := h.evaluator.(Remote)
	if !ok {
		return
	}
	go func() {
		<-retired
		if err := remote.Remove(background, crd); err != nil { // a CRD that remains has no effect
			utilruntime.HandleErrorWithContext(background, err, "Remove CRD", "name", crd.Name)
		}
	}()
}

// GetCustomResourceListerCollectionDeleter implements finalizer.CRClientGetter.
func (h *handler) GetCustomResourceListerCollectionDeleter(crd *apiextensionsv1.CustomResourceDefinition) (finalizer.ListerCollectionDeleter, error) {
	r, err := h.get(background, crd.Name)
	if err != nil {
		return nil, err
	}
	store := r.versions[r.storage].store
	// A list fails until the watch cache has read the objects. After a failure, the finalizer can miss its own update of the
	// status, and then continues at the next resync only, which is minutes later.
	if c, ok := store.Storage.Storage.(*lazyCache); ok {
		_, err = c.started(background, buildTimeout)
	}
	return store, err
}

// readyInterval is the time between two checks whether a store is ready.
const readyInterval = 20 * time.Millisecond

var isLong = genericfilters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString())

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, ok := request.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest {
		h.next.ServeHTTP(w, r)
		return
	}
	fail := func(err error) {
		gv := apiextensionsv1.SchemeGroupVersion
		gv.Group, gv.Version = info.APIGroup, info.APIVersion
		responsewriters.ErrorNegotiated(err, crdserver.Codecs, gv, w, r)
	}
	crd, err := h.lister.Get(info.Resource + "." + info.APIGroup)
	switch {
	case apierrors.IsNotFound(err) || err == nil && !isServed(crd, info):
		h.next.ServeHTTP(w, r)
		return
	case err != nil:
		fail(apierrors.NewInternalError(err))
		return
	}
	if remote, ok := h.evaluator.(Remote); ok {
		w = withOutages(w, remote, fail)
	}
	served, err := h.get(r.Context(), crd.Name)
	switch {
	case apierrors.IsNotFound(err):
		h.next.ServeHTTP(w, r)
		return
	case err != nil:
		fail(unevaluated(err))
		return
	}
	v := served.versions[info.APIVersion]
	if v == nil || !v.served {
		h.next.ServeHTTP(w, r)
		return
	}
	if v.deprecation != "" {
		warning.AddWarning(r.Context(), "", v.deprecation)
	}
	r = r.WithContext(withOutcome(r.Context()))
	next, err := h.handlerOf(r, v, info)
	if err != nil {
		fail(err)
		return
	}
	next = metrics.InstrumentHandlerFunc(strings.ToUpper(info.Verb), info.APIGroup, info.APIVersion, info.Resource, info.Subresource,
		metrics.CleanScope(info), metrics.APIServerComponent, v.deprecation != "", "", next.ServeHTTP)
	genericfilters.WithWaitGroup(next, isLong, served.requests).ServeHTTP(w, r)
}

// isServed reports whether the CRD serves the version and scope of a request.
func isServed(crd *apiextensionsv1.CustomResourceDefinition, info *request.RequestInfo) bool {
	namespaced, named := crd.Spec.Scope == apiextensionsv1.NamespaceScoped, info.Namespace != ""
	if named && !namespaced || !named && namespaced && info.Verb != "list" && info.Verb != "watch" {
		return false
	}
	return apihelpers.HasServedCRDVersion(crd, info.APIVersion) &&
		(apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established))
}

// patchTypes returns the media types of patches.
func patchTypes() []string {
	all := []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}
	if utilfeature.DefaultFeatureGate.Enabled(features.CBORServingAndStorage) {
		all = append(all, string(types.ApplyCBORPatchType))
	}
	return all
}

// handlerOf returns upstream's handler of a request.
func (h *handler) handlerOf(r *http.Request, v *servedVersion, info *request.RequestInfo) (http.Handler, error) {
	ctx := r.Context()
	notSupported := apierrors.NewMethodNotSupported(v.scope.Resource.GroupResource(), info.Verb)
	switch {
	case info.Subresource == "status" && v.status != nil:
		scope, err := v.statusScope.forRequest(ctx, &v.store)
		if err != nil {
			return nil, err
		}
		switch info.Verb {
		case "get":
			return handlers.GetResource(v.status, scope), nil
		case "update":
			return handlers.UpdateResource(v.status, scope, h.admission), nil
		case "patch":
			return handlers.PatchResource(v.status, scope, h.admission, patchTypes()), nil
		}
		return nil, notSupported
	case info.Subresource == "scale" && v.scale != nil:
		scope := &v.scaleScope.RequestScope // its objects are no custom resources
		switch info.Verb {
		case "get":
			return handlers.GetResource(v.scale, scope), nil
		case "update":
			return handlers.UpdateResource(v.scale, scope, h.admission), nil
		case "patch":
			return handlers.PatchResource(v.scale, scope, h.admission, patchTypes()), nil
		}
		return nil, notSupported
	case info.Subresource != "":
		return nil, apierrors.NewNotFound(v.scope.Resource.GroupResource(), info.Name)
	}
	scope, err := v.scope.forRequest(ctx, &v.store)
	if err != nil {
		return nil, err
	}
	if info.Verb == "list" && asksForTable(r) {
		return h.listTable(v.store, scope), nil
	}
	switch info.Verb {
	case "get":
		return handlers.GetResource(v.store, scope), nil
	case "list", "watch":
		return handlers.ListResource(v.store, v.store, scope, info.Verb == "watch", h.watchPeriod), nil
	case "create":
		return handlers.CreateResource(v.store, scope, h.admission), nil
	case "update":
		return handlers.UpdateResource(v.store, scope, h.admission), nil
	case "patch":
		return handlers.PatchResource(v.store, scope, h.admission, patchTypes()), nil
	case "delete":
		return handlers.DeleteResource(v.store, true, scope, h.admission), nil
	case "deletecollection":
		return handlers.DeleteCollection(v.store, true, scope, h.admission), nil
	}
	return nil, notSupported
}
