package apiserver

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
)

// TestColumnFields checks which fields are selected, and that a table of them has the cells of whole objects.
func TestColumnFields(t *testing.T) {
	const manifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boxes, singular: box, kind: Box, listKind: BoxList}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: A, type: string, jsonPath: PATH}]
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
      spec: {type: object, x-kubernetes-preserve-unknown-fields: true, default: {size: big}}}}}
`
	object := map[string]any{}
	err := yaml.Unmarshal([]byte(`{apiVersion: example.com/v1, kind: Box, metadata: {name: b, namespace: web, generation: 1, labels: {a/b: l}},
  spec: {a: x, nothing: null, deep: {b: {c: y}, other: z}, list: [{type: T, v: 1}, {type: U, v: 2}], a.b: dotted}, status: {large: text}}`), &object)
	if err != nil {
		t.Fatal(err)
	}
	for path, below := range map[string]string{
		".spec.a":                      "a",
		".spec.size":                   "",
		".spec.deep.b.c":               "deep",
		".spec.deep":                   "deep",
		".spec.nothing":                "nothing",
		`.spec.list[?(@.type=="U")].v`: "list",
		".spec.list[0].v":              "list",
		".spec.list[*].type":           "list",
		`.spec.a\.b`:                   "*",
		".spec['a.b']":                 "*",
		".spec.deep..c":                "deep",
		".metadata.labels.a/b":         "",
		".metadata.creationTimestamp":  "",
		".status.large":                "",
		".missing.field":               "",
	} {
		t.Run(path, func(t *testing.T) {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal([]byte(strings.Replace(manifest, "PATH", strconv.Quote(path), 1)), crd); err != nil {
				t.Fatal(err)
			}
			d, err := InProcess{}.Compile(t.Context(), crd)
			if err != nil {
				t.Fatal(err)
			}
			c := newTableConvertor(d, crd, "v1")
			u := &unstructured.Unstructured{Object: object}
			whole, err := marshal(u)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			for into, print := range map[*any]func() ([]byte, error){
				&got: func() ([]byte, error) {
					return c.print(t.Context(), []*unstructured.Unstructured{u, u}, publish.TableOptions{ResourceVersion: "7"})
				},
				&want: func() ([]byte, error) {
					documents := []engine.Document{engine.JSON(whole), engine.JSON(whole)}
					return d.PrintTable(t.Context(), "v1", documents, publish.TableOptions{ResourceVersion: "7", Decoded: true})
				},
			} {
				text, err := print()
				if err == nil {
					err = json.Unmarshal(text, into)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("\ngot  %v\nwant %v", got, want)
			}
			text, err := new(printer).appendFields(nil, object, c.fields)
			var printed struct{ Spec map[string]any }
			if err == nil {
				err = json.Unmarshal(text, &printed)
			}
			if err != nil {
				t.Fatal(err)
			}
			spec := printed.Spec
			selected := []string{}
			for name := range spec {
				selected = append(selected, name)
			}
			switch all := object["spec"].(map[string]any); {
			case below == "*" && len(selected) != len(all), below == "" && len(selected) > 0,
				below != "*" && below != "" && (len(selected) != 1 || selected[0] != below):
				t.Errorf("selected: %q", selected)
			}
		})
	}
}

// TestNestedRows: the rows of an object with items at its root are its items, with their own objects.
func TestNestedRows(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := yaml.Unmarshal([]byte(`{metadata: {name: boxes.example.com}, spec: {group: example.com, scope: Namespaced,
  names: {plural: boxes, singular: box, kind: Box, listKind: BoxList}, versions: [{name: v1, served: true, storage: true,
  additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.a}],
  schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`), crd)
	if err != nil {
		t.Fatal(err)
	}
	d, err := InProcess{}.Compile(t.Context(), crd)
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	err = yaml.Unmarshal([]byte(`{apiVersion: example.com/v1, kind: Box, metadata: {name: b},
  items: [{apiVersion: example.com/v1, kind: Box, metadata: {name: x}, spec: {a: 1, b: 2}}, {apiVersion: example.com/v1, kind: Box, metadata: {name: z}}]}`), &object)
	if err != nil {
		t.Fatal(err)
	}
	table, err := newTableConvertor(d, crd, "v1").ConvertToTable(t.Context(), &unstructured.Unstructured{Object: object}, &metav1.TableOptions{})
	if err != nil || len(table.Rows) != 2 {
		t.Fatal(table, err)
	}
	for i, name := range []string{"x", "z"} {
		if u, ok := table.Rows[i].Object.Object.(*unstructured.Unstructured); !ok || u.GetName() != name || table.Rows[i].Cells[0] != name {
			t.Errorf("row %d: %v", i, table.Rows[i])
		}
	}
}
