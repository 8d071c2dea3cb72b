package core

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/clients/apiserver/internal/builtin"
)

// plain serves the objects of a kind.
type plain struct {
	*genericregistry.Store
	short string
}

// ShortNames implements rest.ShortNamesProvider.
func (p plain) ShortNames() []string {
	if p.short == "" {
		return nil
	}
	return []string{p.short}
}

// addKinds adds the storage of the kinds to the resources of their versions.
func addKinds(all map[schema.GroupVersion]map[string]rest.Storage, getter generic.RESTOptionsGetter) error {
	for _, k := range kinds {
		store, err := builtin.NewStore(builtin.Resource{
			Scheme: scheme, Version: k.version, Plural: k.plural, Singular: k.singular(), New: k.newObject, NewList: k.newList,
			Strategy: k.strategy(), Fields: selectable[k.name],
			Columns: []builtin.Column{builtin.NameColumn(), builtin.AgeColumn()},
		}, getter)
		if err != nil {
			return err
		}
		if all[k.version] == nil {
			all[k.version] = map[string]rest.Storage{}
		}
		all[k.version][k.plural] = plain{store, k.short}
		if k.hasStatus() {
			statusStore := builtin.WithStrategy(store, k.version, k.statusStrategy())
			all[k.version][k.plural+"/status"] = builtin.Subresource{Store: statusStore}
		}
	}
	return nil
}

// strategy is that of the main resource.
func (k kind) strategy() *builtin.Strategy {
	s := &builtin.Strategy{
		Namespaced: k.scope&namespaced != 0, Unconditional: true, CreateOnUpdate: k.name == "Lease",
		Prepare: k.prepare,
	}
	if k.hasStatus() {
		s.Reset = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	}
	return s
}

// statusStrategy changes the status and metadata only.
func (k kind) statusStrategy() *builtin.Strategy {
	return &builtin.Strategy{
		Namespaced: k.scope&namespaced != 0, Unconditional: true,
		Prepare: copyDesired,
		Reset:   fieldpath.NewSet(fieldpath.MakePathOrDie("spec")),
	}
}

func (k kind) hasStatus() bool { return status(k.newObject()).IsValid() }

// prepare keeps the status, and counts changes of other fields.
func (k kind) prepare(obj, old runtime.Object) {
	m := obj.(metav1.Object)
	if old == nil {
		if k.scope&counted != 0 {
			m.SetGeneration(1)
		}
		if s := status(obj); s.IsValid() && k.name != "Node" { // a kubelet registers its node with a status
			s.SetZero()
		}
		completeNew(obj)
		return
	}
	if s := status(obj); s.IsValid() {
		s.Set(status(old.DeepCopyObject()))
	}
	if k.scope&counted == 0 {
		return
	}
	same := obj.DeepCopyObject()
	copyDesired(same, old)
	if !equality.Semantic.DeepEqual(same, obj) {
		m.SetGeneration(old.(metav1.Object).GetGeneration() + 1)
	}
}

// status returns the status of an object. It is not valid if the type has none.
func status(obj runtime.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}

// copyDesired copies the fields of from, without metadata and status.
func copyDesired(to, from runtime.Object) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from.DeepCopyObject()).Elem()
	for i := range target.NumField() {
		if f := target.Type().Field(i); !f.Anonymous && f.Name != "Status" {
			target.Field(i).Set(source.Field(i))
		}
	}
}

// selectable has functions that return the fields that selectors can name.
var selectable = map[string]func(runtime.Object) fields.Set{
	"Node": func(obj runtime.Object) fields.Set {
		unschedulable := "false"
		if obj.(*corev1.Node).Spec.Unschedulable {
			unschedulable = "true"
		}
		return fields.Set{"spec.unschedulable": unschedulable}
	},
	"Pod": func(obj runtime.Object) fields.Set {
		p := obj.(*corev1.Pod)
		return fields.Set{
			"spec.nodeName": p.Spec.NodeName, "spec.restartPolicy": string(p.Spec.RestartPolicy),
			"spec.schedulerName": p.Spec.SchedulerName, "spec.serviceAccountName": p.Spec.ServiceAccountName,
			"status.phase": string(p.Status.Phase), "status.podIP": p.Status.PodIP,
			"status.nominatedNodeName": p.Status.NominatedNodeName,
		}
	},
	"Secret": func(obj runtime.Object) fields.Set { return fields.Set{"type": string(obj.(*corev1.Secret).Type)} },
}

// registerSelectors adds the names of selectable fields.
func registerSelectors(s *runtime.Scheme) {
	for _, k := range kinds {
		if get := selectable[k.name]; get != nil {
			var names []string
			for name := range get(k.newObject()) {
				names = append(names, name)
			}
			utilruntime.Must(s.AddFieldLabelConversionFunc(k.version.WithKind(k.name), label(names...)))
		}
	}
}
