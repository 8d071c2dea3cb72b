// Package core serves the namespaces and events of the core group, and events.k8s.io, on k8s.io/apiserver. On request
// it stores further types of Kubernetes, which clients and tests need, without the code that gives them a meaning.
//
// namespaces.go and events.go have the main resources, deletion.go the controller that deletes the content of a
// namespace. kinds.go lists the further types, plain.go stores them, and defaults.go has their defaults.
package core

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/crdeval/crdeval/clients/apiserver/internal/builtin"
)

var scheme = builtin.NewScheme()

func init() {
	builtin.Register(scheme, corev1.SchemeGroupVersion, &corev1.Namespace{}, &corev1.NamespaceList{}, &corev1.Event{}, &corev1.EventList{})
	registerNamespaces(scheme)
	registerEvents(scheme)
	registerKinds(scheme)
}

// Options choose resources besides namespaces and events.
type Options struct {
	// Kinds serves the common types of Kubernetes too, such as pods, secrets and leases. Their metadata is validated,
	// other fields are not, and no controller runs.
	Kinds bool
}

// Definitions adds the OpenAPI definitions of this package to those of next.
func Definitions(next common.GetOpenAPIDefinitions, o Options) common.GetOpenAPIDefinitions {
	types := []any{
		corev1.Namespace{}, corev1.NamespaceList{}, corev1.Event{}, corev1.EventList{}, eventsv1.Event{}, eventsv1.EventList{},
	}
	if o.Kinds {
		for _, k := range kinds {
			for _, obj := range []runtime.Object{k.newObject(), k.newList()} {
				types = append(types, reflect.ValueOf(obj).Elem().Interface())
			}
		}
	}
	return builtin.Definitions(next, types...)
}

// Admission returns the admission plugin that rejects objects in missing and terminating namespaces, and the deletion
// of the namespace default. It reads namespaces of the informers, and of the client if the informers have none.
func Admission(client kubernetes.Interface, factory informers.SharedInformerFactory) (admission.Interface, error) {
	plugin, err := lifecycle.NewLifecycle(sets.New(metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic))
	if err != nil {
		return nil, err
	}
	plugin.SetExternalKubeClientSet(client)
	plugin.SetExternalKubeInformerFactory(factory)
	return plugin, plugin.ValidateInitialization()
}

// Install serves the resources, creates the namespace default, and deletes the content of namespaces that are deleted.
// With Options.Kinds it creates the other namespaces of a cluster too. The informers must be those of the server.
func Install(s *genericapiserver.GenericAPIServer, getter generic.RESTOptionsGetter, factory informers.SharedInformerFactory,
	o Options) error {
	namespaces, status, finalize, err := newNamespaces(getter)
	if err != nil {
		return err
	}
	events, err := newEvents(getter)
	if err != nil {
		return err
	}
	resources := map[schema.GroupVersion]map[string]rest.Storage{
		corev1.SchemeGroupVersion: {
			"namespaces": namespaces, "namespaces/status": status, "namespaces/finalize": finalize, "events": events,
		},
		eventsv1.SchemeGroupVersion: {"events": events},
	}
	initial := []string{metav1.NamespaceDefault}
	if o.Kinds {
		initial = append(initial, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease)
		if err := addKinds(resources, getter); err != nil {
			return err
		}
	}
	legacy := builtin.Group(scheme, corev1.SchemeGroupVersion, resources[corev1.SchemeGroupVersion])
	if err := s.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, legacy); err != nil {
		return err
	}
	delete(resources, corev1.SchemeGroupVersion)
	var groups []*genericapiserver.APIGroupInfo
	for version, storage := range resources {
		groups = append(groups, builtin.Group(scheme, version, storage))
	}
	if err := s.InstallAPIGroups(groups...); err != nil {
		return err
	}
	deletion, err := newDeletion(s.LoopbackClientConfig, factory.Core().V1().Namespaces())
	if err != nil {
		return err
	}
	return s.AddPostStartHook("start-namespaces", func(hook genericapiserver.PostStartHookContext) error {
		go deletion.run(hook)
		return createNamespaces(hook, deletion.namespaces, initial)
	})
}

// createNamespaces creates the namespaces that do not exist. It waits until the server serves namespaces.
func createNamespaces(ctx context.Context, client namespaceClient, names []string) error {
	for _, name := range names {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err := builtin.EnsureExists(ctx, func(ctx context.Context) error {
			_, err := client.Create(ctx, namespace, metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
