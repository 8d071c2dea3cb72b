package apiservertest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/clients/apiserver/sidecar"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar/sidecartest"
)

const widgets = `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, maximum: 9, default: 1}
              color: {type: string}
            x-kubernetes-validations: [{rule: "self.size != 7", message: "no sevens"}]
          status: {type: object, properties: {phase: {type: string}, replicas: {type: integer}}}
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string, default: red}}}}
`

func definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	check(t, yaml.UnmarshalStrict([]byte(widgets), crd))
	return crd
}

func client(t *testing.T, config *rest.Config, version string) dynamic.ResourceInterface {
	t.Helper()
	c, err := dynamic.NewForConfig(config)
	check(t, err)
	return c.Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "widgets"}).Namespace("default")
}

func widget(name, spec string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	text := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return u
}

func spec(u *unstructured.Unstructured, part string) string {
	text, _ := json.Marshal(u.Object[part])
	return string(text)
}

// withEachEvaluator runs a test in this process and with a sidecar.
func withEachEvaluator(t *testing.T, test func(*testing.T, Options)) {
	t.Run("in process", func(t *testing.T) { test(t, Options{}) })
	t.Run("sidecar", func(t *testing.T) {
		server, err := sidecartest.New()
		check(t, err)
		t.Cleanup(func() { check(t, server.Close()) })
		check(t, server.Start())
		e, err := sidecar.Dial(server.Address(), sidecar.Options{})
		check(t, err)
		t.Cleanup(func() { check(t, e.Close()) })
		test(t, Options{Evaluator: e})
	})
}

// TestStart runs the operations of a client against one server.
func TestStart(t *testing.T) { withEachEvaluator(t, testStart) }

func testStart(t *testing.T, o Options) {
	ctx := t.Context()
	begin := time.Now()
	config := StartWith(t, o, definition(t))
	t.Logf("ready after %v", time.Since(begin))
	v1, beta := client(t, config, "v1"), client(t, config, "v1beta1")

	created, err := v1.Create(ctx, widget("a", `{"x":1,"color":"blue"}`), metav1.CreateOptions{})
	check(t, err)
	if got := spec(created, "spec"); got != `{"color":"blue","size":1}` {
		t.Errorf("created %s", got)
	}
	if created.GetUID() == "" || created.GetResourceVersion() == "" || created.GetGeneration() != 1 || len(created.GetManagedFields()) != 1 {
		t.Errorf("metadata: %v", created.Object["metadata"])
	}

	events, err := v1.Watch(ctx, metav1.ListOptions{ResourceVersion: created.GetResourceVersion()})
	check(t, err)
	defer events.Stop()

	_, err = v1.Create(ctx, widget("b", `{"size":10}`), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `spec.size: Invalid value: 10`) {
		t.Errorf("beyond the maximum: %v", err)
	}
	_, err = v1.Create(ctx, widget("b", `{"size":7}`), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `no sevens`) {
		t.Errorf("against the rule: %v", err)
	}
	_, err = v1.Create(ctx, widget("b", `{"x":1}`), metav1.CreateOptions{FieldValidation: "Strict"})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), `unknown field "spec.x"`) {
		t.Errorf("an unknown field: %v", err)
	}

	patched, err := v1.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":2},"status":{"phase":"ignored"}}`), metav1.PatchOptions{})
	check(t, err)
	if patched.GetGeneration() != 2 || spec(patched, "status") != "null" {
		t.Errorf("patched %v", patched.Object)
	}
	same, err := v1.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":2}}`), metav1.PatchOptions{})
	check(t, err)
	if same.GetResourceVersion() != patched.GetResourceVersion() {
		t.Errorf("a patch without a change wrote the object")
	}
	status, err := v1.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":3},"status":{"phase":"ready"}}`), metav1.PatchOptions{}, "status")
	check(t, err)
	if spec(status, "spec") != `{"color":"blue","size":2}` || spec(status, "status") != `{"phase":"ready"}` || status.GetGeneration() != 2 {
		t.Errorf("status patched: %v", status.Object)
	}
	scaled, err := v1.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{}, "scale")
	check(t, err)
	whole, err := v1.Get(ctx, "a", metav1.GetOptions{})
	check(t, err)
	if scaled.GetKind() != "Scale" || spec(scaled, "spec") != `{"replicas":5}` || spec(whole, "spec") != `{"color":"blue","size":5}` {
		t.Errorf("scaled %v, object %v", scaled.Object, whole.Object)
	}
	_, err = v1.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"replicas":10}}`), metav1.PatchOptions{}, "scale")
	if !apierrors.IsInvalid(err) {
		t.Errorf("scaled beyond the maximum: %v", err)
	}
	stale := created.DeepCopy()
	stale.Object["spec"] = map[string]any{"size": int64(4)}
	if _, err := v1.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old state: %v", err)
	}
	for _, want := range []string{patched.GetResourceVersion(), status.GetResourceVersion()} {
		e := <-events.ResultChan()
		if u := e.Object.(*unstructured.Unstructured); e.Type != watch.Modified || u.GetResourceVersion() != want {
			t.Errorf("event %s %v, want version %s", e.Type, u.Object, want)
		}
	}

	other, err := beta.Get(ctx, "a", metav1.GetOptions{})
	check(t, err)
	if other.GetAPIVersion() != "example.com/v1beta1" || spec(other, "status") != "null" {
		t.Errorf("v1beta1: %v", other.Object)
	}
	list, err := v1.List(ctx, metav1.ListOptions{FieldSelector: "spec.color=blue"})
	check(t, err)
	none, err := v1.List(ctx, metav1.ListOptions{FieldSelector: "spec.color=red"})
	check(t, err)
	if len(list.Items) != 1 || len(none.Items) != 0 {
		t.Errorf("selected %d blue and %d red", len(list.Items), len(none.Items))
	}
	check(t, v1.Delete(ctx, "a", metav1.DeleteOptions{}))
	if _, err := v1.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the deletion: %v", err)
	}
}

// TestApply checks server-side apply with a conflict.
func TestApply(t *testing.T) { withEachEvaluator(t, testApply) }

func testApply(t *testing.T, o Options) {
	ctx := t.Context()
	v1 := client(t, StartWith(t, o, definition(t)), "v1")
	applied, err := v1.Apply(ctx, "a", widget("a", `{"color":"blue"}`), metav1.ApplyOptions{FieldManager: "one"})
	check(t, err)
	if spec(applied, "spec") != `{"color":"blue","size":1}` {
		t.Errorf("applied %v", applied.Object)
	}
	_, err = v1.Apply(ctx, "a", widget("a", `{"color":"red"}`), metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "one"`) {
		t.Errorf("without force: %v", err)
	}
	forced, err := v1.Apply(ctx, "a", widget("a", `{"color":"red"}`), metav1.ApplyOptions{FieldManager: "two", Force: true})
	check(t, err)
	managers := []string{}
	for _, m := range forced.GetManagedFields() {
		managers = append(managers, m.Manager)
	}
	if !slices.Contains(managers, "two") || spec(forced, "spec") != `{"color":"red","size":1}` {
		t.Errorf("forced %v", forced.Object)
	}
}

// TestUnchanged: server-side apply and the scale, in a version with a default that the stored object lacks, change
// nothing else. Other writes set the default, as in upstream's server, although the storage drops it.
func TestUnchanged(t *testing.T) { withEachEvaluator(t, testUnchanged) }

func testUnchanged(t *testing.T, o Options) {
	ctx := t.Context()
	crd := definition(t)
	crd.Spec.Versions[1].Subresources = crd.Spec.Versions[0].Subresources
	delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "color")
	crd.Spec.Versions[0].SelectableFields = nil
	beta := client(t, StartWith(t, o, crd), "v1beta1")
	applied := func(spec string) *unstructured.Unstructured {
		u := widget("a", spec)
		u.SetAPIVersion("example.com/v1beta1")
		return u
	}
	first, err := beta.Apply(ctx, "a", applied(`{"size":1}`), metav1.ApplyOptions{FieldManager: "one"})
	check(t, err)
	for _, c := range []struct {
		name, subresource, patch, spec string
		kind                           types.PatchType
		generation                     int64
	}{
		{"apply nothing", "", `{"apiVersion":"example.com/v1beta1","kind":"Widget"}`, `{"size":1}`, types.ApplyPatchType, 1},
		{"apply nothing again", "", `{"apiVersion":"example.com/v1beta1","kind":"Widget"}`, `{"size":1}`, types.ApplyPatchType, 1},
		{"apply no status", "status", `{"apiVersion":"example.com/v1beta1","kind":"Widget"}`, `{"size":1}`, types.ApplyPatchType, 1},
		{"scale to the same", "scale", `{"spec":{"replicas":1}}`, `{"size":1}`, types.MergePatchType, 1},
		{"scale", "scale", `{"spec":{"replicas":2}}`, `{"size":2}`, types.MergePatchType, 2},
		{"merge patch", "", `{}`, `{"size":2}`, types.MergePatchType, 3},
		{"JSON patch", "", `[]`, `{"size":2}`, types.JSONPatchType, 4},
	} {
		var subresources []string
		if c.subresource != "" {
			subresources = []string{c.subresource}
		}
		force := c.kind == types.ApplyPatchType
		options := metav1.PatchOptions{FieldManager: "two"}
		if force {
			options.Force = &force
		}
		_, err := beta.Patch(ctx, "a", c.kind, []byte(c.patch), options, subresources...)
		check(t, err)
		got, err := beta.Get(ctx, "a", metav1.GetOptions{})
		check(t, err)
		if got.GetGeneration() != c.generation || spec(got, "spec") != c.spec {
			t.Errorf("%s: generation %d, spec %s, want %d, %s", c.name, got.GetGeneration(), spec(got, "spec"), c.generation, c.spec)
		}
		if c.generation == 1 && c.subresource == "" && got.GetResourceVersion() != first.GetResourceVersion() {
			t.Errorf("%s: wrote the object", c.name)
		}
	}
}

// TestTable checks the columns and the rows of a list.
func TestTable(t *testing.T) { withEachEvaluator(t, testTable) }

func testTable(t *testing.T, o Options) {
	ctx := t.Context()
	config := StartWith(t, o, definition(t))
	_, err := client(t, config, "v1").Create(ctx, widget("a", `{"size":3}`), metav1.CreateOptions{})
	check(t, err)
	c, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	check(t, err)
	text, err := c.Get().AbsPath("/apis/example.com/v1/widgets").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	check(t, err)
	table := metav1.Table{}
	check(t, json.Unmarshal(text, &table))
	if len(table.Rows) != 1 || len(table.ColumnDefinitions) != 2 || table.ColumnDefinitions[1].Name != "Size" || table.Rows[0].Cells[1] != float64(3) {
		t.Errorf("table %s", text)
	}
	if !strings.Contains(string(table.Rows[0].Object.Raw), `"PartialObjectMetadata"`) {
		t.Errorf("object of the row: %s", table.Rows[0].Object.Raw)
	}
}

// TestPrintedTable: the table that the evaluator prints is the table that upstream's handler encodes.
func TestPrintedTable(t *testing.T) { withEachEvaluator(t, testPrintedTable) }

func testPrintedTable(t *testing.T, o Options) {
	ctx := t.Context()
	config := StartWith(t, o, definition(t))
	for name, spec := range map[string]string{"a": `{"size":3}`, "b": `{"color":"<&>\u2028é\u0000"}`, "c": `{}`} {
		_, err := client(t, config, "v1").Create(ctx, widget(name, spec), metav1.CreateOptions{FieldManager: "<m>"})
		check(t, err)
	}
	c, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	check(t, err)
	const printed = "application/json;as=Table;v=v1;g=meta.k8s.io"
	// Other media types in the first place, and this parameter, need upstream's handler.
	const decoded = "application/json;as=Table;g=meta.k8s.io;v=v1"
	for name, change := range map[string]func(*rest.Request){
		"all":         func(*rest.Request) {},
		"none":        func(r *rest.Request) { r.Param("labelSelector", "x=y") },
		"pretty":      func(r *rest.Request) { r.Param("pretty", "true") },
		"first":       func(r *rest.Request) { r.Param("limit", "1") },
		"cached":      func(r *rest.Request) { r.Param("resourceVersion", "0") },
		"v1beta1":     func(r *rest.Request) { r.AbsPath("/apis/example.com/v1beta1/widgets") },
		"a wrong one": func(r *rest.Request) { r.Param("resourceVersion", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			get := func(accept string) []any {
				r := c.Get().AbsPath("/apis/example.com/v1/widgets").SetHeader("Accept", accept)
				change(r)
				result := r.Do(ctx)
				text, _ := result.Raw()
				code, content, kind := 0, any(nil), ""
				result.StatusCode(&code).ContentType(&kind)
				check(t, json.Unmarshal(text, &content))
				lines := bytes.Count(text, []byte("\n"))
				if code != http.StatusOK { // upstream's handler indents the Status
					lines = 0
				}
				return []any{code, kind, lines, content}
			}
			if got, want := get(printed), get(decoded); !reflect.DeepEqual(got, want) {
				t.Errorf("printed %v\nencoded %v", got, want)
			}
		})
	}
}

// TestKubeconfig calls a server with the kubeconfig of its configuration.
func TestKubeconfig(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", Kubeconfig(t, Start(t, definition(t))))
	check(t, err)
	_, err = client(t, config, "v1").Create(t.Context(), widget("a", `{}`), metav1.CreateOptions{})
	check(t, err)
}
