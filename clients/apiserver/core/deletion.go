package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	deleteWorkers = 4                     // namespaces deleted at a time
	minRetry      = 50 * time.Millisecond // while content remains
	maxRetry      = 10 * time.Second
)

type namespaceClient = typedcorev1.NamespaceInterface

// deletion deletes the content of terminating namespaces, and then removes the finalizer of the namespace.
type deletion struct {
	namespaces namespaceClient
	kinds      *kubernetes.Clientset
	crds       clientset.Interface
	objects    metadata.Interface
	lister     corelisters.NamespaceLister
	synced     cache.InformerSynced
	queue      workqueue.TypedRateLimitingInterface[string]
}

func newDeletion(config *rest.Config, informer coreinformers.NamespaceInformer) (*deletion, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	crds, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetry, maxRetry)
	d := &deletion{
		namespaces: client.CoreV1().Namespaces(), kinds: client, crds: crds, objects: objects,
		lister: informer.Lister(), synced: informer.Informer().HasSynced, queue: workqueue.NewTypedRateLimitingQueue(limiter),
	}
	add := func(obj any) {
		if n, ok := obj.(*corev1.Namespace); ok && !n.DeletionTimestamp.IsZero() {
			d.queue.Add(n.Name)
		}
	}
	_, err = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }})
	return d, err
}

// run deletes until the context ends.
func (d *deletion) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), d.synced) {
		return
	}
	for range deleteWorkers {
		go func() {
			for d.next(ctx) {
			}
		}()
	}
	<-ctx.Done()
	d.queue.ShutDown()
}

func (d *deletion) next(ctx context.Context) bool {
	name, stopped := d.queue.Get()
	if stopped {
		return false
	}
	defer d.queue.Done(name)
	done, err := d.delete(ctx, name)
	if err != nil && ctx.Err() == nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Delete the content of a namespace", "namespace", name)
	}
	if done {
		d.queue.Forget(name)
	} else {
		d.queue.AddRateLimited(name)
	}
	return true
}

// delete deletes the content of a namespace. It returns false if content remains.
func (d *deletion) delete(ctx context.Context, name string) (bool, error) {
	n, err := d.lister.Get(name)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if n.DeletionTimestamp.IsZero() || !slices.Contains(n.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return true, nil
	}
	remaining, err := d.deleteContent(ctx, name)
	if err != nil || len(remaining) > 0 {
		return false, errors.Join(err, d.report(ctx, n, remaining, err))
	}
	n = n.DeepCopy()
	n.Spec.Finalizers = slices.DeleteFunc(n.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	_, err = d.namespaces.Finalize(ctx, n, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // an update of the namespace queues it again
		err = nil
	}
	return err == nil, err
}

// deleteContent deletes the objects of a namespace, and counts those that remain by resource.
func (d *deletion) deleteContent(ctx context.Context, namespace string) (map[string]int, error) {
	resources, err := d.resources(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the resources of the server: %w", err)
	}
	remaining := map[string]int{}
	var errs []error
	background := metav1.DeletePropagationBackground
	for _, r := range resources {
		objects := d.objects.Resource(r).Namespace(namespace)
		err := objects.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
		var list *metav1.PartialObjectMetadataList
		if err == nil {
			list, err = objects.List(ctx, metav1.ListOptions{})
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("delete %s: %w", r.GroupResource(), err))
		case len(list.Items) > 0:
			remaining[r.GroupResource().String()] = len(list.Items)
		}
	}
	return remaining, errors.Join(errs...)
}

// resources returns the namespaced resources that can be deleted. Those of CRDs do not come from discovery, which lacks a
// CRD while it cannot be compiled.
func (d *deletion) resources(ctx context.Context) ([]schema.GroupVersionResource, error) {
	lists, err := d.kinds.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	found := map[schema.GroupResource]schema.GroupVersionResource{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "deletecollection") && slices.Contains(r.Verbs, "list") {
				gvr := version.WithResource(r.Name)
				found[gvr.GroupResource()] = gvr
			}
		}
	}
	crds, err := d.crds.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, crd := range crds.Items {
		if crd.Spec.Scope != apiextensionsv1.NamespaceScoped || !apihelpers.IsCRDConditionTrue(&crd, apiextensionsv1.Established) {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Served {
				gvr := schema.GroupVersionResource{Group: crd.Spec.Group, Version: v.Name, Resource: crd.Status.AcceptedNames.Plural}
				found[gvr.GroupResource()] = gvr
				break
			}
		}
	}
	var all []schema.GroupVersionResource
	for _, r := range found {
		all = append(all, r)
	}
	return all, nil
}

// report writes into the status of a namespace why it still exists.
func (d *deletion) report(ctx context.Context, n *corev1.Namespace, remaining map[string]int, failure error) error {
	var texts []string
	for resource, count := range remaining {
		texts = append(texts, fmt.Sprintf("%s has %d resource instances", resource, count))
	}
	sort.Strings(texts)
	n = n.DeepCopy()
	changed := setCondition(n, corev1.NamespaceContentRemaining, len(texts) > 0, "SomeResourcesRemain", "Some resources are remaining: "+strings.Join(texts, ", "))
	message := ""
	if failure != nil {
		message = failure.Error()
	}
	if !setCondition(n, corev1.NamespaceDeletionContentFailure, failure != nil, "ContentDeletionFailed", message) && !changed {
		return nil
	}
	_, err := d.namespaces.UpdateStatus(ctx, n, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		err = nil
	}
	return err
}

// setCondition sets a condition. It returns false if the namespace has it already.
func setCondition(n *corev1.Namespace, kind corev1.NamespaceConditionType, is bool, reason, message string) bool {
	c := corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: reason, Message: message}
	if !is {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "ContentRemoved", "All content is deleted"
	}
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NamespaceCondition) bool { return c.Type == kind })
	switch {
	case i < 0:
		n.Status.Conditions = append(n.Status.Conditions, c)
		return true
	case n.Status.Conditions[i].Status == c.Status && n.Status.Conditions[i].Message == c.Message:
		return false
	case n.Status.Conditions[i].Status == c.Status:
		c.LastTransitionTime = n.Status.Conditions[i].LastTransitionTime
	}
	n.Status.Conditions[i] = c
	return true
}
