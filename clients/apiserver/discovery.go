package apiserver

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/crdeval/crdeval/engine/publish"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	informers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/tools/cache"

	"github.com/crdeval/crdeval/engine"
)

// discoverer publishes what the established CRDs serve.
type discoverer struct {
	handler   *handler
	groups    discovery.GroupManager
	all       aggregated.ResourceManager
	changed   chan struct{}                           // capacity 1
	published chan struct{}                           // capacity 1
	served    atomic.Pointer[map[string]http.Handler] // by path
	known     map[metav1.GroupVersion]bool            // in groups and all
	builtIn   map[string]metav1.APIGroup              // groups of other APIs, by name
	next      http.Handler                            // serves other paths
	documents documents                               // of OpenAPI
}

// watch makes the discoverer follow the informer. An event comes after the lister of the handler has its CRD, so a
// published resource is always served.
func (d *discoverer) watch(informer informers.CustomResourceDefinitionInformer) error {
	d.served.Store(&map[string]http.Handler{})
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { signal(d.changed) },
		UpdateFunc: func(any, any) { signal(d.changed) },
		DeleteFunc: func(any) { signal(d.changed) },
	})
	return err
}

// signal sends to a channel with capacity 1, unless it is full.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run publishes until the context ends. All other APIs must be installed.
func (d *discoverer) run(ctx context.Context) {
	groups, err := d.groups.Groups(ctx, &http.Request{})
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "List API groups")
	}
	d.builtIn = map[string]metav1.APIGroup{}
	for _, g := range groups {
		d.builtIn[g.Name] = g
	}
	go d.compile(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.changed:
			if err := d.publish(); err != nil {
				utilruntime.HandleErrorWithContext(ctx, err, "Publish discovery")
			}
			signal(d.published)
		}
	}
}

// compile compiles published CRDs before their first request, until the context ends.
func (d *discoverer) compile(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.published:
		}
		crds, err := d.established()
		if err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "List CRDs")
		}
		for _, crd := range crds {
			if _, err := d.handler.get(ctx, crd.Name); err != nil && !apierrors.IsNotFound(err) {
				utilruntime.HandleErrorWithContext(ctx, err, "Compile CRD", "name", crd.Name)
			}
		}
	}
}

// established returns the established CRDs.
func (d *discoverer) established() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := d.handler.lister.List(labels.Everything())
	return slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
	}), err
}

func (d *discoverer) publish() error {
	crds, err := d.established()
	if err != nil {
		return err
	}
	described := make([]publish.CRD, len(crds))
	for i, crd := range crds {
		described[i] = describe(crd)
	}
	next := publish.Discover(described...)
	text, _ := next.Aggregated()
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	served, known, groups := map[string]http.Handler{}, map[metav1.GroupVersion]bool{}, map[string]bool{}
	for i := range list.Items {
		var group metav1.APIGroup
		if err := json.Unmarshal(next.Group(list.Items[i].Name), &group); err != nil {
			return err
		}
		served["apis/"+group.Name] = discovery.NewAPIGroupHandler(crdserver.Codecs, group)
		for _, v := range group.Versions {
			var resources metav1.APIResourceList
			if err := json.Unmarshal(next.Resources(group.Name, v.Version), &resources); err != nil {
				return err
			}
			version := schema.GroupVersion{Group: group.Name, Version: v.Version}
			served["apis/"+version.String()] = discovery.NewAPIVersionHandler(crdserver.Codecs, version,
				discovery.APIResourceListerFunc(func() []metav1.APIResource { return slices.Clone(resources.APIResources) }))
		}
		d.addGroup(group)
		groups[group.Name] = true
		for _, v := range list.Items[i].Versions { // not SetGroups, which removes the groups of other sources
			version := metav1.GroupVersion{Group: group.Name, Version: v.Version}
			d.all.AddGroupVersion(group.Name, v)
			d.all.SetGroupVersionPriority(version, groupPriority, versionPriority)
			known[version] = true
		}
	}
	d.served.Store(&served)
	for version := range d.known {
		if !known[version] {
			d.all.RemoveGroupVersion(version)
		}
		if !groups[version.Group] {
			d.removeGroup(version.Group)
		}
	}
	d.known = known
	d.documents.publish(crds)
	return nil
}

// addGroup adds a group of CRDs to /apis. The versions of other APIs come first.
func (d *discoverer) addGroup(group metav1.APIGroup) {
	if g, ok := d.builtIn[group.Name]; ok {
		g.Versions = slices.Concat(g.Versions, slices.DeleteFunc(slices.Clone(group.Versions),
			func(v metav1.GroupVersionForDiscovery) bool { return slices.Contains(g.Versions, v) }))
		group = g
	}
	d.groups.AddGroup(group)
}

// removeGroup removes a group of CRDs from /apis, except the versions of other APIs.
func (d *discoverer) removeGroup(name string) {
	if g, ok := d.builtIn[name]; ok {
		d.groups.AddGroup(g)
		return
	}
	d.groups.RemoveGroup(name)
}

// describe describes a CRD for publish.Discover. It does not call the evaluator, so that discovery is complete during an
// outage.
func describe(crd *apiextensionsv1.CustomResourceDefinition) publish.CRD {
	c := publish.CRD{
		Name: crd.Name, Scope: crd.Spec.Scope, Status: crd.Status,
		Group: crd.Spec.Group, Names: crd.Spec.Names,
	}
	for _, v := range crd.Spec.Versions {
		info := engine.VersionInfo{Name: v.Name, Served: v.Served, Storage: v.Storage}
		if s := v.Subresources; s != nil {
			info.HasStatus, info.HasScale = s.Status != nil, s.Scale != nil
		}
		c.Versions = append(c.Versions, info)
	}
	return c
}

// The priorities of custom resources in an API server. Versions with the same priority are ordered by name.
const groupPriority, versionPriority = 1000, 100

// ServeHTTP serves /apis/{group} and /apis/{group}/{version}.
func (d *discoverer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, ok := (*d.served.Load())[strings.Trim(r.URL.Path, "/")]
	if !ok {
		h = d.next
	}
	h.ServeHTTP(w, r)
}

// isDiscovery reports whether the path of a request is that of a group or a version.
func isDiscovery(r *http.Request) bool {
	return strings.Count(strings.Trim(r.URL.Path, "/"), "/") <= 2
}
