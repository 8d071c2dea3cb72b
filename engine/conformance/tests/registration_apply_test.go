package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/crdeval/crdeval/engine"
)

// TestApplyOfRepeatedElements compares the notes about lists with two elements of one key with what server-side apply
// does with such a CRD.
func TestApplyOfRepeatedElements(t *testing.T) {
	const prefix = "#/components/schemas/"
	models := map[string]*spec.Schema{}
	for name, d := range generatedopenapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(prefix + name) }) {
		if strings.HasSuffix(name, "apiextensions.v1.CustomResourceDefinition") || strings.HasSuffix(name, "apiextensions/v1.CustomResourceDefinition") {
			d.Schema.AddExtension("x-kubernetes-group-version-kind", []any{
				map[string]any{"group": "apiextensions.k8s.io", "version": "v1", "kind": "CustomResourceDefinition"},
			})
		}
		models[name] = &d.Schema
	}
	converter, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		t.Fatal(err)
	}
	const twice = "x-kubernetes-validations: [{rule: self != '1'}, {rule: self != '1'}]"
	for _, tt := range []struct {
		name, schema, metadata string
		fails                  bool
	}{
		{"different rules", atSpec("type: string\nmaxLength: 9\nx-kubernetes-validations: [{rule: self != '1'}, {rule: self != '2'}]"), "", false},
		{"the same rule", atSpec("type: string\nmaxLength: 9\n" + twice), "", true},
		{"below items", atSpec("type: array\nmaxItems: 2\nitems: {type: string, maxLength: 9, " + twice + "}"), "", false},
		{"below additionalProperties", atSpec("type: object\nmaxProperties: 2\nadditionalProperties: {type: string, maxLength: 9, " + twice + "}"), "", false},
		{"finalizers", atSpec("type: string"), `,"finalizers":["a.com/b","a.com/b"]`, true},
	} {
		text := []byte(strings.Replace(string(manifest(t, tt.schema)), `"name":"as.example.com"`, `"name":"as.example.com"`+tt.metadata, 1))
		crd := &unstructured.Unstructured{}
		if err := json.Unmarshal(text, crd); err != nil {
			t.Fatal(err)
		}
		_, failed := converter.ObjectToTyped(crd)
		if (failed != nil) != tt.fails {
			t.Errorf("%s: server-side apply: %v", tt.name, failed)
		}
		report, err := engine.Check(context.Background(), engine.JSON(text), engine.Options{})
		if err != nil || !report.Accepted {
			t.Fatalf("%s: %v %+v", tt.name, err, report)
		}
		if noted := strings.Contains(fmt.Sprint(report.Warnings), "kubectl apply --server-side fails"); noted != tt.fails {
			t.Errorf("%s: the warnings are %+v", tt.name, report.Warnings)
		}
	}
}
