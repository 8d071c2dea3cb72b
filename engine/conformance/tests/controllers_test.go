package tests

import (
	"context"
	"fmt"
	"strconv"
	_ "unsafe" // for the steps of the controllers

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	client "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	informers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	crdinformer "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/apiapproval"
	"k8s.io/apiextensions-apiserver/pkg/controller/establish"
	"k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema"
	naming "k8s.io/apiextensions-apiserver/pkg/controller/status"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Each controller works in an unexported method, so the tests link to it by name.

//go:linkname syncNames k8s.io/apiextensions-apiserver/pkg/controller/status.(*NamingConditionController).sync
func syncNames(c *naming.NamingConditionController, ctx context.Context, key string) error

//go:linkname syncEstablished k8s.io/apiextensions-apiserver/pkg/controller/establish.(*EstablishingController).sync
func syncEstablished(c *establish.EstablishingController, ctx context.Context, key string) error

//go:linkname syncStructure k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema.(*ConditionController).sync
func syncStructure(c *nonstructuralschema.ConditionController, ctx context.Context, key string) error

//go:linkname syncApproval k8s.io/apiextensions-apiserver/pkg/controller/apiapproval.(*KubernetesAPIApprovalPolicyConformantConditionController).sync
func syncApproval(c *apiapproval.KubernetesAPIApprovalPolicyConformantConditionController, ctx context.Context, key string) error

// Server is a minimal API server: CRDs and their controllers.
type Server struct {
	crds    cache.Indexer
	version int
	names   *naming.NamingConditionController
	serving *establish.EstablishingController
	schemas *nonstructuralschema.ConditionController
	groups  *apiapproval.KubernetesAPIApprovalPolicyConformantConditionController
}

// NewServer starts a server with copies of the CRDs.
func NewServer(crds []*apiextensionsv1.CustomResourceDefinition) (*Server, error) {
	s := &Server{}
	informer := informers.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions()
	s.crds = informer.Informer().GetIndexer()
	for _, crd := range crds {
		if err := s.keep(crd.DeepCopy()); err != nil {
			return nil, err
		}
	}
	s.start(informer)
	return s, nil
}

func (s *Server) start(informer crdinformer.CustomResourceDefinitionInformer) {
	s.names = naming.NewNamingConditionController(klog.Background(), informer, s)
	s.serving = establish.NewEstablishingController(informer, s)
	s.schemas = nonstructuralschema.NewConditionController(informer, s)
	s.groups = apiapproval.NewKubernetesAPIApprovalPolicyConformantConditionController(informer, s)
}

// keep stores a CRD with a new resource version.
func (s *Server) keep(crd *apiextensionsv1.CustomResourceDefinition) error {
	s.version++
	crd.ResourceVersion = strconv.Itoa(s.version)
	return s.crds.Update(crd)
}

// Get returns a CRD. Callers must not change it.
func (s *Server) Get(name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd, found, err := s.crds.GetByKey(name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("no definition %s", name)
	}
	return crd.(*apiextensionsv1.CustomResourceDefinition), nil
}

// Steps are the controllers by number.
const Steps = 4

// Step runs one controller for a CRD, and reports whether it changed it.
func (s *Server) Step(controller int, name string) (changed bool, err error) {
	before := s.version
	ctx := context.Background()
	switch controller {
	case 0:
		err = syncNames(s.names, ctx, name)
	case 1:
		err = syncEstablished(s.serving, ctx, name)
	case 2:
		err = syncStructure(s.schemas, ctx, name)
	default:
		err = syncApproval(s.groups, ctx, name)
	}
	return s.version > before, err
}

// CustomResourceDefinitions implements client.CustomResourceDefinitionsGetter.
func (s *Server) CustomResourceDefinitions() client.CustomResourceDefinitionInterface {
	return &definitions{server: s}
}

// definitions is a client with what controllers need: it writes statuses. Controllers run one at a time.
type definitions struct {
	client.CustomResourceDefinitionInterface
	server *Server
}

// UpdateStatus implements client.CustomResourceDefinitionInterface.
func (d *definitions) UpdateStatus(_ context.Context, crd *apiextensionsv1.CustomResourceDefinition, _ metav1.UpdateOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	held, err := d.server.Get(crd.Name)
	if err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(held.Status, crd.Status) {
		return held, nil // then servers write nothing
	}
	next := held.DeepCopy()
	next.Status = *crd.Status.DeepCopy()
	return next, d.server.keep(next)
}
