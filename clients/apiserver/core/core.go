// Package core serves the namespaces and events of the core group, and events.k8s.io, on k8s.io/apiserver.
//
// namespaces.go and events.go have the resources, deletion.go the controller that deletes the content of a namespace.
// Call Prepare before the server is built, and Install after.
package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
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
}

// Definitions adds the OpenAPI definitions of this package to those of next.
func Definitions(next common.GetOpenAPIDefinitions) common.GetOpenAPIDefinitions {
	return builtin.Definitions(next, corev1.Namespace{}, corev1.NamespaceList{}, corev1.Event{}, corev1.EventList{},
		eventsv1.Event{}, eventsv1.EventList{})
}

// Admission returns the admission plugin that rejects objects in missing and terminating namespaces, and the deletion of
// the namespace default. It reads namespaces of the informers, and of the client if the informers have none.
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
// The informers must be those of the server.
func Install(s *genericapiserver.GenericAPIServer, getter generic.RESTOptionsGetter, factory informers.SharedInformerFactory) error {
	namespaces, status, finalize, err := newNamespaces(getter)
	if err != nil {
		return err
	}
	events, err := newEvents(getter)
	if err != nil {
		return err
	}
	group := builtin.Group(scheme, corev1.SchemeGroupVersion, map[string]rest.Storage{
		"namespaces": namespaces, "namespaces/status": status, "namespaces/finalize": finalize, "events": events,
	})
	if err := s.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, group); err != nil {
		return err
	}
	if err := s.InstallAPIGroup(builtin.Group(scheme, eventsv1.SchemeGroupVersion, map[string]rest.Storage{"events": events})); err != nil {
		return err
	}
	deletion, err := newDeletion(s.LoopbackClientConfig, factory.Core().V1().Namespaces())
	if err != nil {
		return err
	}
	return s.AddPostStartHook("start-namespaces", func(hook genericapiserver.PostStartHookContext) error {
		go deletion.run(hook)
		return createDefault(hook, deletion.namespaces)
	})
}

// createDefault creates the namespace default if it does not exist. It waits until the server serves namespaces.
func createDefault(ctx context.Context, client namespaceClient) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}
	var failure error
	err := wait.PollUntilContextTimeout(ctx, startInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		_, failure = client.Create(ctx, namespace, metav1.CreateOptions{})
		return failure == nil || apierrors.IsAlreadyExists(failure), nil
	})
	if err != nil && failure != nil {
		return failure
	}
	return err
}
