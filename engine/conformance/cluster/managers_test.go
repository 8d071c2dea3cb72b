//go:build cluster

package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/test/integration/fixtures"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/handwritten"
	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestManagers writes random fields with several managers at two versions. Rules must give what the managers would get
// if both versions had the schema of v1, for which a webhook changes nothing.
func TestManagers(t *testing.T) {
	things := readCRD(t, thingCRD)
	rules, _, err := engine.Compile(t.Context(), engine.JSON(document(t, things)),
		engine.Options{Conversion: engine.YAML([]byte(thingRules))})
	if err != nil {
		t.Fatal(err)
	}
	same := readCRD(t, strings.NewReplacer("thing", "plain", "Thing", "Plain").Replace(thingCRD))
	same.Spec.Versions[1].Schema = same.Spec.Versions[0].Schema
	server := httptest.NewTLSServer(handwritten.Handler(func(map[string]any, string) error { return nil }))
	defer server.Close()

	s := startAPIServer(t)
	setWebhook(things, startCrdeval(t, things, thingRules))
	setWebhook(same, webhook{server.URL, authority(server)})
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{things, same} {
		if _, err := fixtures.CreateNewV1CustomResourceDefinition(crd, s.crds, s.objects); err != nil {
			t.Fatal(err)
		}
	}
	m := &managers{t: t, apiServer: s, random: rand.New(rand.NewPCG(1, 1)), rules: rules}
	for i := range testenv.Volume(60) {
		m.run(fmt.Sprintf("thing-%d", i))
	}
	t.Logf("%d writes were compared, %d failed because of a null", m.compared, m.nulls)
	if m.compared < 200 {
		t.Errorf("only %d writes were compared", m.compared)
	}
}

// managers writes the same fields to a Thing, which rules convert, and to a Plain, which needs no rules.
type managers struct {
	t *testing.T
	*apiServer
	random          *rand.Rand
	rules           *engine.Definition
	compared, nulls int
}

// run writes one object several times and compares the results after each write.
func (m *managers) run(name string) {
	var writes []string
	for i := range 6 {
		w := m.write(i > 0)
		writes = append(writes, w.String())
		thing, plain := m.do(w, "Thing", name), m.do(w, "Plain", name)
		// Upstream leaves null where a manager removed all that an object had, and where it is depends on the order of a
		// Go map. Both objects can be at fault.
		if isNull(thing) || isNull(plain) {
			m.nulls++
			return
		}
		if thing != nil || plain != nil {
			m.t.Fatalf("%v; without rules: %v; after\n%s", thing, plain, strings.Join(writes, "\n"))
		}
		m.compared++
		if got, want := m.read("things", name), m.read("plains", name); !reflect.DeepEqual(got, want) {
			m.t.Fatalf("got  %v\nwant %v\nafter\n%s", got, want, strings.Join(writes, "\n"))
		}
	}
}

func isNull(err error) bool {
	return err != nil && (strings.Contains(err.Error(), `Invalid value: "null"`) ||
		strings.Contains(err.Error(), "invalid metadata of type <nil>"))
}

// write is a request of a manager, with the fields of v1.
type write struct {
	manager, version string
	update           bool // otherwise the fields are applied
	subresources     []string
	metadata, fields map[string]any
}

// String describes the request.
func (w write) String() string {
	text, _ := json.Marshal(w.fields)
	return fmt.Sprintf("%s at %s, update %t, %s: %v %s", w.manager, w.version, w.update, w.subresources, w.metadata, text)
}

func (m *managers) write(exists bool) write {
	w := write{
		manager: m.pick("a", "b", "c"), version: m.pick("v1", "v1beta1"), update: exists && m.random.IntN(6) == 0,
		fields: map[string]any{}, metadata: map[string]any{},
	}
	field := func(in map[string]any, name string, value any) {
		below, isObject := value.(map[string]any)
		if m.random.IntN(2) == 0 && (!isObject || len(below) > 0) {
			in[name] = value
		}
	}
	if exists && m.random.IntN(5) == 0 {
		w.subresources = []string{"status"}
		status := map[string]any{}
		field(status, "ready", m.random.IntN(2) == 0)
		field(status, "phase", m.pick("a", "b"))
		field(w.fields, "status", status)
		return w
	}
	field(w.metadata, "labels", map[string]any{m.pick("l", "m"): m.pick("x", "y")})
	spec, endpoint, labels := map[string]any{}, map[string]any{}, map[string]any{}
	field(endpoint, "host", m.pick("a", "b"))
	field(endpoint, "port", int64(m.random.IntN(2)))
	field(labels, "a", m.pick("a", "b"))
	field(labels, "b", m.pick("a", "b"))
	field(spec, "endpoint", endpoint)
	field(spec, "labels", labels)
	field(spec, "mode", m.pick("fast", "slow", "other"))
	field(spec, "priority", m.pick("high", "low"))
	field(spec, "tags", []any{m.pick("t", "u")})
	field(spec, "args", []any{m.pick("a", "b")})
	if w.version == "v1" {
		field(spec, "note", m.pick("a", "b"))
	}
	port := map[string]any{"name": m.pick("p", "q")}
	field(port, "port", int64(m.random.IntN(2)))
	field(port, "protocol", m.pick("TCP", "UDP"))
	if len(port) > 1 {
		field(spec, "ports", []any{port})
	}
	field(w.fields, "spec", spec)
	return w
}

func (m *managers) pick(from ...string) string { return from[m.random.IntN(len(from))] }

// do sends a request for an object of a kind.
func (m *managers) do(w write, kind, name string) error {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": kind}}
	maps.Copy(object.Object, w.fields)
	object.Object["metadata"] = maps.Clone(w.metadata)
	object.SetName(name)
	object.SetNamespace("default")
	if kind == "Thing" && w.version != "v1" {
		text, err := json.Marshal(object)
		if err == nil {
			text, err = convert.Append(m.t.Context(), m.rules, nil, text, w.version, true)
		}
		if err == nil {
			err = object.UnmarshalJSON(text)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
	object.SetAPIVersion("example.com/" + w.version)
	client := m.client(strings.ToLower(kind)+"s", w.version)
	if !w.update {
		options := metav1.ApplyOptions{FieldManager: w.manager, Force: true}
		_, err := client.Apply(m.t.Context(), name, object, options, w.subresources...)
		return err
	}
	old, err := client.Get(m.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	object.SetResourceVersion(old.GetResourceVersion())
	_, err = client.Update(m.t.Context(), object, metav1.UpdateOptions{FieldManager: w.manager}, w.subresources...)
	return err
}

func (m *managers) client(plural, version string) dynamic.ResourceInterface {
	resource := schema.GroupVersionResource{Group: "example.com", Version: version, Resource: plural}
	return m.objects.Resource(resource).Namespace("default")
}

// read returns labels, spec and status of an object at v1, without what rules do not carry: the order of ports, empty
// objects, and whether a default is stored.
func (m *managers) read(plural, name string) map[string]any {
	object, err := m.client(plural, "v1").Get(m.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	if spec["priority"] == "default" {
		delete(spec, "priority")
	}
	if ports, ok := spec["ports"].([]any); ok {
		slices.SortFunc(ports, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	maps.DeleteFunc(spec, func(_ string, v any) bool { return reflect.ValueOf(v).Len() == 0 })
	return map[string]any{"labels": object.GetLabels(), "spec": fmt.Sprint(spec), "status": fmt.Sprint(status)}
}
