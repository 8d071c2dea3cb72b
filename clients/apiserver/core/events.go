package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"github.com/crdeval/crdeval/clients/apiserver/internal/builtin"
)

// eventTTL is the time after which etcd deletes an event.
const eventTTL = time.Hour

// registerEvents adds events.k8s.io, whose events are stored as those of the core group.
func registerEvents(s *runtime.Scheme) {
	builtin.RegisterConverted(s, eventsv1.SchemeGroupVersion, &eventsv1.Event{}, &eventsv1.EventList{})
	s.AddKnownTypes(schema.GroupVersion{Group: eventsv1.GroupName, Version: runtime.APIVersionInternal}, &corev1.Event{}, &corev1.EventList{})
	conversions := map[[2]any]conversion.ConversionFunc{
		{(*corev1.Event)(nil), (*eventsv1.Event)(nil)}: func(in, out any, _ conversion.Scope) error {
			toEvents(in.(*corev1.Event), out.(*eventsv1.Event))
			return nil
		},
		{(*eventsv1.Event)(nil), (*corev1.Event)(nil)}: func(in, out any, _ conversion.Scope) error {
			toCore(in.(*eventsv1.Event), out.(*corev1.Event))
			return nil
		},
		{(*corev1.EventList)(nil), (*eventsv1.EventList)(nil)}: func(in, out any, _ conversion.Scope) error {
			from, to := in.(*corev1.EventList), out.(*eventsv1.EventList)
			to.ListMeta, to.Items = from.ListMeta, make([]eventsv1.Event, len(from.Items))
			for i := range from.Items {
				toEvents(&from.Items[i], &to.Items[i])
			}
			return nil
		},
	}
	for types, convert := range conversions {
		utilruntime.Must(s.AddConversionFunc(types[0], types[1], convert))
	}
	names := []string{"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"}
	utilruntime.Must(s.AddFieldLabelConversionFunc(corev1.SchemeGroupVersion.WithKind("Event"), label(names...)))
	regarding := map[string]string{"regarding.kind": names[0], "regarding.namespace": names[1], "regarding.name": names[2],
		"regarding.uid": names[3], "regarding.apiVersion": names[4], "regarding.resourceVersion": names[5], "regarding.fieldPath": names[6],
		"reason": "reason", "reportingController": "reportingComponent", "type": "type"}
	utilruntime.Must(s.AddFieldLabelConversionFunc(eventsv1.SchemeGroupVersion.WithKind("Event"), func(name, value string) (string, string, error) {
		if stored, ok := regarding[name]; ok {
			return stored, value, nil
		}
		return runtime.DefaultMetaV1FieldSelectorConversion(name, value)
	}))
}

func toEvents(in *corev1.Event, out *eventsv1.Event) {
	*out = eventsv1.Event{
		ObjectMeta: in.ObjectMeta, EventTime: in.EventTime, ReportingController: in.ReportingController, ReportingInstance: in.ReportingInstance,
		Action: in.Action, Reason: in.Reason, Regarding: in.InvolvedObject, Related: in.Related, Note: in.Message, Type: in.Type,
		DeprecatedSource: in.Source, DeprecatedFirstTimestamp: in.FirstTimestamp, DeprecatedLastTimestamp: in.LastTimestamp, DeprecatedCount: in.Count,
	}
	if in.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
}

func toCore(in *eventsv1.Event, out *corev1.Event) {
	*out = corev1.Event{
		ObjectMeta: in.ObjectMeta, EventTime: in.EventTime, ReportingController: in.ReportingController, ReportingInstance: in.ReportingInstance,
		Action: in.Action, Reason: in.Reason, InvolvedObject: in.Regarding, Related: in.Related, Message: in.Note, Type: in.Type,
		Source: in.DeprecatedSource, FirstTimestamp: in.DeprecatedFirstTimestamp, LastTimestamp: in.DeprecatedLastTimestamp, Count: in.DeprecatedCount,
	}
	if in.Series != nil {
		out.Series = &corev1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
}

var eventStrategy = &builtin.Strategy{Namespaced: true, Unconditional: true, CreateOnUpdate: true, Check: checkEvent}

// checkEvent checks what all clients rely on. Events with an eventTime come from the API events.k8s.io, which requires more.
func checkEvent(obj, _ runtime.Object) (all field.ErrorList) {
	e := obj.(*corev1.Event)
	namespace := e.InvolvedObject.Namespace
	if namespace != e.Namespace && (namespace != "" || e.Namespace != metav1.NamespaceDefault && e.Namespace != metav1.NamespaceSystem) {
		all = append(all, field.Invalid(field.NewPath("involvedObject", "namespace"), namespace, "does not match event.namespace"))
	}
	if e.EventTime.IsZero() {
		return all
	}
	for name, value := range map[string]string{
		"reportingController": e.ReportingController, "reportingInstance": e.ReportingInstance, "action": e.Action, "reason": e.Reason,
	} {
		if value == "" {
			all = append(all, field.Required(field.NewPath(name), ""))
		}
	}
	if types := []string{corev1.EventTypeNormal, corev1.EventTypeWarning}; !slices.Contains(types, e.Type) {
		all = append(all, field.NotSupported(field.NewPath("type"), e.Type, types))
	}
	return all
}

// events serves events. Both API groups have them.
type events struct{ *genericregistry.Store }

// ShortNames implements rest.ShortNamesProvider.
func (events) ShortNames() []string { return []string{"ev"} }

func newEvents(getter generic.RESTOptionsGetter) (events, error) {
	store, err := builtin.NewStore(builtin.Resource{
		Scheme: scheme, Version: corev1.SchemeGroupVersion, Plural: "events", Singular: "event",
		New: func() runtime.Object { return &corev1.Event{} }, NewList: func() runtime.Object { return &corev1.EventList{} },
		Strategy: eventStrategy, Fields: eventFields, Columns: eventColumns(),
	}, getter)
	if err == nil {
		store.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return uint64(eventTTL / time.Second), nil }
	}
	return events{store}, err
}

func eventFields(obj runtime.Object) fields.Set {
	e := obj.(*corev1.Event)
	o := &e.InvolvedObject
	return fields.Set{
		"involvedObject.kind": o.Kind, "involvedObject.namespace": o.Namespace, "involvedObject.name": o.Name, "involvedObject.uid": string(o.UID),
		"involvedObject.apiVersion": o.APIVersion, "involvedObject.resourceVersion": o.ResourceVersion, "involvedObject.fieldPath": o.FieldPath,
		"reason": e.Reason, "reportingComponent": e.ReportingController, "source": sourceOf(e), "type": e.Type,
	}
}

// sourceOf returns the component that reported an event.
func sourceOf(e *corev1.Event) string {
	if e.Source.Component != "" {
		return e.Source.Component
	}
	return e.ReportingController
}

// eventColumns are the columns of kubectl get events.
func eventColumns() []builtin.Column {
	column := func(name string, wide bool, description string, cell func(*corev1.Event) string) builtin.Column {
		return builtin.Column{Name: name, Type: "string", Wide: wide, Description: description,
			Cell: func(obj runtime.Object) any { return cell(obj.(*corev1.Event)) }}
	}
	name := builtin.NameColumn()
	name.Wide = true
	return []builtin.Column{
		column("Last Seen", false, "Time since the event was last observed", lastSeen),
		column("Type", false, "Normal or Warning", func(e *corev1.Event) string { return e.Type }),
		column("Reason", false, "Reason of the event", func(e *corev1.Event) string { return e.Reason }),
		column("Object", false, "The object of the event", func(e *corev1.Event) string {
			return fmt.Sprintf("%s/%s", strings.ToLower(e.InvolvedObject.Kind), e.InvolvedObject.Name)
		}),
		column("Subobject", true, "The part of the object", func(e *corev1.Event) string { return e.InvolvedObject.FieldPath }),
		column("Source", true, "The component that reported the event", func(e *corev1.Event) string {
			if e.Source.Host != "" {
				return sourceOf(e) + ", " + e.Source.Host
			}
			return sourceOf(e)
		}),
		column("Message", false, "Description of the event", func(e *corev1.Event) string { return e.Message }),
		column("First Seen", true, "Time since the event was first observed", func(e *corev1.Event) string { return builtin.Since(firstTime(e)) }),
		column("Count", true, "How often the event was observed", func(e *corev1.Event) string { return strconv.Itoa(int(count(e))) }),
		name,
	}
}

func firstTime(e *corev1.Event) time.Time {
	if e.FirstTimestamp.IsZero() {
		return e.EventTime.Time
	}
	return e.FirstTimestamp.Time
}

func lastSeen(e *corev1.Event) string {
	last := e.LastTimestamp.Time
	if e.Series != nil {
		last = e.Series.LastObservedTime.Time
	}
	if last.IsZero() {
		last = firstTime(e)
	}
	return builtin.Since(last)
}

func count(e *corev1.Event) int32 {
	if e.Series != nil {
		return e.Series.Count
	}
	return max(e.Count, 1)
}
