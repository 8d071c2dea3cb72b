package core_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/clients/apiserver/apiservertest"
)

func start(t *testing.T, crds ...*apiextensionsv1.CustomResourceDefinition) (*rest.Config, *kubernetes.Clientset) {
	t.Helper()
	config := apiservertest.StartWith(t, apiservertest.Options{Core: true}, crds...)
	client, err := kubernetes.NewForConfig(config)
	check(t, err)
	return config, client
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 600 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: not within 30 s", what)
}

func widgets() *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}},
			}},
		},
	}
}

func widget(namespace, name string, finalizers ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("example.com/v1")
	u.SetKind("Widget")
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetFinalizers(finalizers)
	return u
}

// TestNamespaces follows a namespace with a custom resource that has a finalizer, until both are deleted.
func TestNamespaces(t *testing.T) {
	ctx := t.Context()
	config, client := start(t, widgets())
	objects, err := dynamic.NewForConfig(config)
	check(t, err)
	resource := objects.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	namespaces := client.CoreV1().Namespaces()

	if _, err := namespaces.Get(ctx, "default", metav1.GetOptions{}); err != nil {
		t.Errorf("namespace default: %v", err)
	}
	if err := namespaces.Delete(ctx, "default", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("delete default: %v", err)
	}
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "A"}}, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("an invalid name: %v", err)
	}
	if _, err := resource.Namespace("a").Create(ctx, widget("a", "w"), metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object in a missing namespace: %v", err)
	}
	a, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	check(t, err)
	if a.Status.Phase != corev1.NamespaceActive || a.Labels["kubernetes.io/metadata.name"] != "a" || !slices.Equal(a.Spec.Finalizers, []corev1.FinalizerName{"kubernetes"}) {
		t.Errorf("created %+v", a)
	}
	_, err = namespaces.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}},"status":{"phase":"Terminating"}}`), metav1.PatchOptions{})
	check(t, err)
	for _, w := range []*unstructured.Unstructured{widget("a", "free"), widget("a", "held", "example.com/hold")} {
		_, err = resource.Namespace("a").Create(ctx, w, metav1.CreateOptions{})
		check(t, err)
	}
	_, err = resource.Namespace("default").Create(ctx, widget("default", "other"), metav1.CreateOptions{})
	check(t, err)

	check(t, namespaces.Delete(ctx, "a", metav1.DeleteOptions{}))
	if _, err := resource.Namespace("a").Create(ctx, widget("a", "late"), metav1.CreateOptions{}); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("an object in a terminating namespace: %v", err)
	}
	eventually(t, "a condition that counts what remains", func() bool {
		a, err := namespaces.Get(ctx, "a", metav1.GetOptions{})
		check(t, err)
		return a.Status.Phase == corev1.NamespaceTerminating && slices.ContainsFunc(a.Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == corev1.NamespaceContentRemaining && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, "widgets.example.com has 1 ")
		})
	})
	_, err = resource.Namespace("a").Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	check(t, err)
	eventually(t, "the deletion of the namespace", func() bool {
		_, err := namespaces.Get(ctx, "a", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if list, err := resource.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("after the deletion: %v, %v", list, err)
	}
}

// TestDryRun checks that a dry run does not terminate a namespace.
func TestDryRun(t *testing.T) {
	ctx := t.Context()
	_, client := start(t)
	namespaces := client.CoreV1().Namespaces()
	_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	check(t, err)
	check(t, namespaces.Delete(ctx, "a", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	uid := types.UID("other")
	if err := namespaces.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); !apierrors.IsConflict(err) {
		t.Errorf("a deletion of another uid: %v", err)
	}
	a, err := namespaces.Get(ctx, "a", metav1.GetOptions{})
	check(t, err)
	if !a.DeletionTimestamp.IsZero() || a.Status.Phase != corev1.NamespaceActive {
		t.Errorf("after a dry run: %+v", a)
	}
}

// TestEvents records events with both APIs, and selects and prints them.
func TestEvents(t *testing.T) {
	ctx := t.Context()
	_, client := start(t)
	old, fresh := client.CoreV1().Events("default"), client.EventsV1().Events("default")
	regarding := corev1.ObjectReference{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "default", Name: "w"}
	_, err := old.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "old"}, InvolvedObject: regarding, Reason: "Made", Message: "made it", Type: corev1.EventTypeNormal,
	}, metav1.CreateOptions{})
	check(t, err)
	_, err = fresh.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "fresh"}, Regarding: regarding, Reason: "Broke", Note: "broke it", Type: corev1.EventTypeWarning, Action: "Break",
		ReportingController: "example.com/c", ReportingInstance: "c-1", EventTime: metav1.NowMicro(),
	}, metav1.CreateOptions{})
	check(t, err)
	_, err = fresh.Create(ctx, &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Regarding: regarding, EventTime: metav1.NowMicro()}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "reportingController: Required value") {
		t.Errorf("an event without a controller: %v", err)
	}
	stray := regarding
	stray.Namespace = "elsewhere"
	if _, err := old.Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "stray"}, InvolvedObject: stray}, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("an event of an object in another namespace: %v", err)
	}
	converted, err := old.Get(ctx, "fresh", metav1.GetOptions{})
	check(t, err)
	if converted.Message != "broke it" || converted.InvolvedObject != regarding || converted.ReportingController != "example.com/c" {
		t.Errorf("converted %+v", converted)
	}
	list, err := fresh.List(ctx, metav1.ListOptions{FieldSelector: "regarding.kind=Widget,type=Normal"})
	check(t, err)
	if len(list.Items) != 1 || list.Items[0].Note != "made it" {
		t.Errorf("selected %+v", list.Items)
	}
	if _, err := old.List(ctx, metav1.ListOptions{FieldSelector: "message=x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field: %v", err)
	}
	text, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/events").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	check(t, err)
	table := metav1.Table{}
	check(t, json.Unmarshal(text, &table))
	if len(table.Rows) != 2 || table.ColumnDefinitions[3].Name != "Object" || table.Rows[0].Cells[3] != "widget/w" || table.Rows[0].Cells[5] != "example.com/c" {
		t.Errorf("table %s", text)
	}
}

// TestDiscovery checks that a CRD does not remove built-in resources from discovery.
func TestDiscovery(t *testing.T) {
	_, client := start(t, widgets())
	groups, err := client.Discovery().ServerGroups()
	check(t, err)
	var names []string
	for _, g := range groups.Groups {
		names = append(names, g.Name)
	}
	for _, want := range []string{"", "apiextensions.k8s.io", "events.k8s.io", "rbac.authorization.k8s.io", "example.com"} {
		if !slices.Contains(names, want) {
			t.Errorf("discovery lacks %q: %v", want, names)
		}
	}
	document, err := client.Discovery().OpenAPISchema()
	check(t, err)
	if !strings.Contains(document.String(), "io.k8s.api.core.v1.Namespace") {
		t.Error("OpenAPI v2 lacks Namespace")
	}
}
