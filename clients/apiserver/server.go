package apiserver

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	externalinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/apiapproval"
	"k8s.io/apiextensions-apiserver/pkg/controller/establish"
	"k8s.io/apiextensions-apiserver/pkg/controller/finalizer"
	"k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi"
	"k8s.io/apiextensions-apiserver/pkg/controller/status"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/klog/v2"
)

// Config describes a Server.
type Config struct {
	// Generic is the configuration of upstream's server. Its RESTOptionsGetter stores the CRDs.
	Generic *genericapiserver.RecommendedConfig
	// Evaluator evaluates CRDs and custom resources.
	Evaluator Evaluator
	// CustomResources has the options of the stores of custom resources. Their codec is ignored.
	CustomResources generic.RESTOptionsGetter
}

// Server serves CRDs and their custom resources.
type Server struct {
	*genericapiserver.GenericAPIServer
	informers externalinformers.SharedInformerFactory
	synced    chan struct{}
}

// New returns a Server. Requests that it does not serve go to next.
func New(c Config, next genericapiserver.DelegationTarget) (*Server, error) {
	complete := c.Generic.Complete()
	complete.EnableDiscovery = true
	generic, err := complete.New("crdeval-apiserver", next)
	if err != nil {
		return nil, err
	}
	s := &Server{GenericAPIServer: generic, synced: make(chan struct{})}
	if err := s.RegisterMuxAndDiscoveryCompleteSignal("CRDInformerHasNotSynced", s.synced); err != nil {
		return nil, err
	}
	client, err := clientset.NewForConfig(s.LoopbackClientConfig)
	if err != nil {
		return nil, err
	}
	s.informers = externalinformers.NewSharedInformerFactory(client, 5*time.Minute)
	crds := s.informers.Apiextensions().V1().CustomResourceDefinitions()
	if err := s.installDefinitions(complete.RESTOptionsGetter, crds.Lister()); err != nil {
		return nil, err
	}
	establisher := establish.NewEstablishingController(crds, client.ApiextensionsV1())
	unserved := next.UnprotectedHandler()
	if unserved == nil {
		unserved = notfoundhandler.New(crdserver.Codecs, genericapifilters.NoMuxAndDiscoveryIncompleteKey) // 503 until the CRDs are known
	}
	built, stored := newFieldTypesCache(), &storages{RESTOptionsGetter: c.CustomResources}
	h := &handler{
		admission: c.Generic.AdmissionControl, establish: establisher, next: unserved, evaluator: c.Evaluator,
		watchPeriod: time.Duration(c.Generic.MinRequestTimeout) * time.Second,
		resources: &resources{
			lister: crds.Lister(), byID: map[types.UID]*slot{},
			build: func(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (*resource, error) {
				return newResource(ctx, c.Evaluator, crd, stored, s.Authorizer, c.Generic.MaxRequestBodyBytes, built)
			},
		},
	}
	if err := h.watch(crds); err != nil {
		return nil, err
	}
	d := &discoverer{
		handler: h, documents: documents{lister: crds.Lister()}, next: unserved,
		groups: s.DiscoveryGroupManager, all: s.AggregatedDiscoveryGroupManager.WithSource(aggregated.CRDSource),
		changed: make(chan struct{}, 1), published: make(chan struct{}, 1),
	}
	if err := d.watch(crds); err != nil {
		return nil, err
	}
	s.Handler.NonGoRestfulMux.HandlePrefix("/apis/", apis{h, d})
	s.RegisterDestroyFunc(h.destroy)
	s.RegisterDestroyFunc(stored.raw.close)
	naming := status.NewNamingConditionController(klog.TODO(), crds, client.ApiextensionsV1())
	structural := nonstructuralschema.NewConditionController(crds, client.ApiextensionsV1())
	approval := apiapproval.NewKubernetesAPIApprovalPolicyConformantConditionController(crds, client.ApiextensionsV1())
	finalizing := finalizer.NewCRDFinalizer(crds, client.ApiextensionsV1(), h)
	return s, s.AddPostStartHook("start-crdeval", func(hook genericapiserver.PostStartHookContext) error {
		s.informers.Start(hook.Done())
		if s.StaticOpenAPISpec != nil && s.OpenAPIVersionedService != nil {
			go openapi.NewController(crds).Run(s.StaticOpenAPISpec, s.OpenAPIVersionedService, hook.Done())
		}
		d.documents.service = s.OpenAPIV3VersionedService
		for _, run := range []func(context.Context){
			naming.RunWithContext, establisher.RunWithContext, d.run,
			func(ctx context.Context) { structural.RunWithContext(5, ctx) },
			func(ctx context.Context) { approval.RunWithContext(5, ctx) },
			func(ctx context.Context) { finalizing.RunWithContext(5, ctx) },
		} {
			go run(hook)
		}
		s.informers.WaitForCacheSync(hook.Done())
		close(s.synced)
		return nil
	})
}

// installDefinitions serves the CRDs with upstream's registry.
func (s *Server) installDefinitions(getter generic.RESTOptionsGetter, lister listers.CustomResourceDefinitionLister) error {
	group := genericapiserver.NewDefaultAPIGroupInfo(apiextensions.GroupName, crdserver.Scheme, metav1.ParameterCodec, crdserver.Codecs)
	store, err := customresourcedefinition.NewREST(crdserver.Scheme, uncached{getter})
	if err != nil {
		return err
	}
	group.VersionedResourcesStorageMap[apiextensionsv1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"customresourcedefinitions":        definitionStore{store, lister},
		"customresourcedefinitions/status": customresourcedefinition.NewStatusREST(crdserver.Scheme, store),
	}
	return s.InstallAPIGroup(&group)
}

// apis serves the paths below /apis.
type apis struct {
	objects   *handler
	discovery *discoverer
}

func (a apis) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isDiscovery(r) {
		a.discovery.ServeHTTP(w, r)
		return
	}
	a.objects.ServeHTTP(w, r)
}
