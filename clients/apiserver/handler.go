package apiserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	informers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/establish"
	"k8s.io/apiextensions-apiserver/pkg/controller/finalizer"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"
)

// handler serves the custom resources of the CRDs in an informer.
type handler struct {
	evaluator   Evaluator
	lister      listers.CustomResourceDefinitionLister
	storage     generic.RESTOptionsGetter
	admission   admission.Interface
	authorizer  authorizer.UnconditionalAuthorizer
	maxBody     int64 // bytes of a body, 0 for no limit
	establish   *establish.EstablishingController
	watchPeriod time.Duration // the minimum period after which a watch ends
	next        http.Handler

	mu        sync.Mutex
	resources map[types.UID]*builtResource
}

// builtResource is a resource with what it is built of.
type builtResource struct {
	spec     *apiextensionsv1.CustomResourceDefinitionSpec
	accepted *apiextensionsv1.CustomResourceDefinitionNames
	ending   bool                      // the CRD is being deleted
	build    func() (*resource, error) // once
}

// teardownTimeout bounds how long the requests of a replaced resource may last.
const teardownTimeout = time.Minute

// watch makes the handler follow the informer.
func (h *handler) watch(informer informers.CustomResourceDefinitionInformer) error {
	queue := func(obj any) {
		crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		if ok && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) && !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			h.establish.QueueCRD(crd.Name, 0)
		}
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    queue,
		UpdateFunc: func(_, obj any) { queue(obj) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
				h.remove(crd)
			}
		},
	})
	return err
}

// resource returns the resource of a CRD, and builds it if the CRD changed. It does not hold the lock while it builds,
// because the evaluator may be slow.
func (h *handler) resource(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (*resource, error) {
	entry, err := h.entry(ctx, crd)
	if err != nil {
		return nil, err
	}
	r, err := entry.build()
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.resources[crd.UID] == entry { // the next request tries again
			delete(h.resources, crd.UID)
		}
	}
	return r, err
}

// entry returns the entry of a CRD as the lister has it now: another request may have seen a newer CRD.
func (h *handler) entry(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (*builtResource, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	latest, err := h.lister.Get(crd.Name)
	switch {
	case err != nil:
		return nil, err
	case latest.UID != crd.UID:
		return nil, apierrors.NewNotFound(apiextensionsv1.Resource("customresourcedefinitions"), crd.Name)
	}
	crd = latest
	if old, ok := h.resources[crd.UID]; ok {
		if old.ending == isEnding(crd) && equality.Semantic.DeepEqual(old.spec, &crd.Spec) && equality.Semantic.DeepEqual(old.accepted, &crd.Status.AcceptedNames) {
			return old, nil
		}
		h.removeLocked(crd.UID)
	}
	ctx = context.WithoutCancel(ctx)
	entry := &builtResource{&crd.Spec, &crd.Status.AcceptedNames, isEnding(crd), sync.OnceValues(func() (*resource, error) {
		return newResource(ctx, h.evaluator, crd, h.storage, h.authorizer, h.maxBody)
	})}
	h.resources[crd.UID] = entry
	return entry, nil
}

// isEnding reports whether a CRD is being deleted. Its Definition then rejects creations.
func isEnding(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return !crd.DeletionTimestamp.IsZero() || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating)
}

// remove destroys the resource of a deleted CRD, and then removes the CRD from a remote evaluator.
func (h *handler) remove(crd *apiextensionsv1.CustomResourceDefinition) {
	h.mu.Lock()
	destroyed := h.removeLocked(crd.UID)
	h.mu.Unlock()
	remote, ok := h.evaluator.(Remote)
	if !ok {
		return
	}
	go func() {
		<-destroyed
		if err := remote.Remove(background, crd); err != nil { // a CRD that remains has no effect
			utilruntime.HandleErrorWithContext(background, err, "Remove CRD", "name", crd.Name)
		}
	}()
}

// removeLocked destroys a resource after its requests have finished, and then closes the channel.
func (h *handler) removeLocked(uid types.UID) <-chan struct{} {
	destroyed := make(chan struct{})
	old, ok := h.resources[uid]
	if !ok {
		close(destroyed)
		return destroyed
	}
	delete(h.resources, uid)
	go func() {
		defer close(destroyed)
		r, err := old.build()
		if err != nil {
			return
		}
		finished := make(chan struct{})
		go func() { r.requests.Wait(); close(finished) }()
		select {
		case <-finished:
		case <-time.After(teardownTimeout):
		}
		r.destroy()
	}()
	return destroyed
}

// destroy ends all resources.
func (h *handler) destroy() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uid, entry := range h.resources {
		if r, err := entry.build(); err == nil {
			r.destroy()
		}
		delete(h.resources, uid)
	}
}

// GetCustomResourceListerCollectionDeleter implements finalizer.CRClientGetter.
func (h *handler) GetCustomResourceListerCollectionDeleter(crd *apiextensionsv1.CustomResourceDefinition) (finalizer.ListerCollectionDeleter, error) {
	r, err := h.resource(background, crd)
	if err != nil {
		return nil, err
	}
	return r.versions[r.storage].store, nil
}

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
	served, err := h.resource(r.Context(), crd)
	switch {
	case apierrors.IsNotFound(err):
		h.next.ServeHTTP(w, r)
		return
	case err != nil:
		fail(unevaluated(err))
		return
	}
	v := served.versions[info.APIVersion]
	if v == nil {
		h.next.ServeHTTP(w, r)
		return
	}
	if v.deprecation != "" {
		warning.AddWarning(r.Context(), "", v.deprecation)
	}
	next, err := h.handlerOf(v, info)
	if err != nil {
		fail(err)
		return
	}
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

var patchTypes = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}

// handlerOf returns upstream's handler of a request.
func (h *handler) handlerOf(v *servedVersion, info *request.RequestInfo) (http.Handler, error) {
	notSupported := apierrors.NewMethodNotSupported(v.scope.Resource.GroupResource(), info.Verb)
	switch {
	case info.Subresource == "status" && v.status != nil:
		switch info.Verb {
		case "get":
			return handlers.GetResource(v.status, v.statusScope), nil
		case "update":
			return handlers.UpdateResource(v.status, v.statusScope, h.admission), nil
		case "patch":
			return handlers.PatchResource(v.status, v.statusScope, h.admission, patchTypes), nil
		}
		return nil, notSupported
	case info.Subresource == "scale" && v.scale != nil:
		switch info.Verb {
		case "get":
			return handlers.GetResource(v.scale, v.scaleScope), nil
		case "update":
			return handlers.UpdateResource(v.scale, v.scaleScope, h.admission), nil
		case "patch":
			return handlers.PatchResource(v.scale, v.scaleScope, h.admission, patchTypes), nil
		}
		return nil, notSupported
	case info.Subresource != "":
		return nil, apierrors.NewNotFound(v.scope.Resource.GroupResource(), info.Name)
	}
	switch info.Verb {
	case "get":
		return handlers.GetResource(v.store, v.scope), nil
	case "list", "watch":
		return handlers.ListResource(v.store, v.store, v.scope, info.Verb == "watch", h.watchPeriod), nil
	case "create":
		return handlers.CreateResource(v.store, v.scope, h.admission), nil
	case "update":
		return handlers.UpdateResource(v.store, v.scope, h.admission), nil
	case "patch":
		return handlers.PatchResource(v.store, v.scope, h.admission, patchTypes), nil
	case "delete":
		return handlers.DeleteResource(v.store, true, v.scope, h.admission), nil
	case "deletecollection":
		return handlers.DeleteCollection(v.store, true, v.scope, h.admission), nil
	}
	return nil, notSupported
}
