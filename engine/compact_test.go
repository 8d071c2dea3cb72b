package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
)

// spacedCRD has defaults in all places. Its test compiles it as JSON with line breaks.
const spacedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com/convert"}}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: List, type: string, jsonPath: .spec.list}, {name: Free, type: string, jsonPath: .spec.free}]
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {size: 1}
            properties:
              size: {type: integer, default: 1}
              color: {type: string}
              shade: {type: string}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, default: {a: [1, {b: "c d"}], f: 1.5}}
              list: {type: array, default: [{a: 1}, {}], items: {type: object, default: {a: 2}, properties: {a: {type: integer}, b: {type: object, default: {}, properties: {c: {type: array, items: {type: number}, default: [1.0, 2]}}}}}}
              map: {type: object, additionalProperties: {type: object, default: {a: 1}, properties: {a: {type: integer}}}}
              embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {b: c}}}}
          status: {type: object, default: {phase: New, size: 0}, properties: {phase: {type: string}, size: {type: integer}}}
  - name: v1beta1
    served: true
    storage: false
    schema: *schema
`

// spread returns a JSON text with line breaks of each kind between its tokens.
func spread(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, text, "\r", "\t "); err != nil {
		t.Fatal(err)
	}
	return append(append([]byte("\n "), b.Bytes()...), "\r\n"...)
}

// spreader is a conversion webhook that replies with line breaks.
type spreader struct{ t testing.TB }

func (s spreader) Convert(ctx context.Context, q conversionwebhook.Request) ([][]byte, error) {
	for _, object := range q.Objects {
		checkCompact(s.t, "sent to the webhook", object)
	}
	replies, err := renamer{}.Convert(ctx, q)
	for i := range replies {
		replies[i] = spread(s.t, replies[i])
	}
	return replies, err
}

func checkCompact(t testing.TB, what string, text []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil || !bytes.Equal(b.Bytes(), text) {
		t.Errorf("%s, %v: %q", what, err, text)
	}
}

// checkDocuments checks that all bytes in a result are JSON without white space. It returns their number.
func checkDocuments(t testing.TB, what string, v reflect.Value) (count int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkDocuments(t, what, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				count += checkDocuments(t, what+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.Len() > 0 {
				checkCompact(t, what, v.Bytes())
				count++
			}
			return count
		}
		for i := range v.Len() {
			count += checkDocuments(t, what, v.Index(i))
		}
	}
	return count
}

// TestResultsAreCompact: line breaks in a CRD, an object, an old object, a patch or the reply of a webhook never reach
// the documents of a result.
func TestResultsAreCompact(t *testing.T) {
	crd, err := yaml.YAMLToJSON([]byte(spacedCRD))
	if err != nil {
		t.Fatal(err)
	}
	d, report, err := Compile(t.Context(), JSON(spread(t, crd)), Options{Converter: spreader{t}})
	if err != nil || !report.Accepted {
		t.Fatal(err, report)
	}
	const meta = `"name":"w","namespace":"n","labels":{"a":"b"},"annotations":{},"finalizers":["a/b"],"generation":1,"uid":"u","resourceVersion":"7","managedFields":[{"manager":"m","operation":"Update","apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{}}}}]`
	object := func(version, rest string) Document { return JSON(spread(t, widget(version, meta, rest).JSON)) }
	create := func(version, rest string) Document {
		return JSON(bytes.Replace(object(version, rest).JSON, []byte(`"resourceVersion": "7",`), nil, 1))
	}
	asYAML := func(d Document) Document { return YAML(bytes.ReplaceAll(d.JSON, []byte("\r"), nil)) }
	const whole = `,"spec":{"size":2,"free":{"x":[[],{},1.0],"n":null,"s":" \n "},"list":[{"b":{"c":[1]}}],"map":{"k":{}},"embedded":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"x":[1]}},"unknown":{"a":[1]}},"status":{"phase":"x"}`
	const clean = `,"spec":{"size":2,"free":{"x":[[],{}]},"list":[],"map":{},"embedded":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"x":[1]}}},"status":{"phase":"x"}`
	stored := object("v1", clean)
	patch := func(p PatchType, text string) Patch {
		return Patch{Type: p, Body: JSON(spread(t, []byte(text))), Old: stored, Version: "v1"}
	}
	items := map[string]Write{
		"creation":         Create{Object: create("v1", whole)},
		"clean":            Create{Object: create("v1", clean)},
		"defaults":         Create{Object: create("v1", ``)},
		"YAML":             Create{Object: asYAML(create("v1", whole))},
		"other version":    Create{Object: create("v1beta1", whole)},
		"update":           Update{Object: object("v1", whole), Old: stored},
		"same":             Update{Object: stored, Old: stored},
		"old of another":   Update{Object: object("v1", whole), Old: object("v1beta1", clean)},
		"decoded":          Update{Object: object("v1", whole), Old: stored, OldDecoded: true},
		"status":           Update{Object: object("v1", `,"status":{"size":3}`), Old: stored, Subresource: "status"},
		"old status":       Update{Object: object("v1", `,"spec":{"size":2}`), Old: stored},
		"merge patch":      patch(MergePatch, `{"spec":{"free":{"z":{"y":[1,{"a":2}]}}}}`),
		"empty patch":      patch(MergePatch, `{}`),
		"JSON patch":       patch(JSONPatch, `[{"op":"add","path":"/spec/free/z","value":{"y":[1,{"a":2}]}},{"op":"copy","from":"/spec/embedded","path":"/spec/free/c"}]`),
		"scale":            Update{Object: JSON(spread(t, []byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w","namespace":"n"},"spec":{"replicas":3}}`))), Old: stored, Subresource: "scale", Version: "v1"},
		"last finalizer":   Update{Object: JSON(bytes.Replace(object("v1", clean).JSON, []byte(`"a/b"`), nil, 1)), Old: JSON(bytes.Replace(stored.JSON, []byte(`"uid"`), []byte("\"deletionTimestamp\":\n\"2020-01-01T00:00:00Z\",\n\"uid\""), 1))},
		"another kind":     Create{Object: JSON(bytes.Replace(create("v1", clean).JSON, []byte("Widget"), []byte("Gadget"), 1)), Version: "v1"},
		"violations":       Create{Object: create("v1", `,"spec":{"size":"x","list":[{"a":[1]}],"color":{"a":[1]}}`)},
		"duplicate fields": Create{Object: create("v1", `,"spec":{"size":1,"free":{"a":[1],"a":[2]}}`)},
	}
	include := PresentationOptions{SelectableFields: true, TableRow: true, Scale: true}
	for name, item := range items {
		counts := map[string]int{}
		for _, view := range []View{ViewFull, ViewChanged} {
			o := AdmitOptions{View: view, WithStatus: true}
			calls := []func() (any, error){
				func() (any, error) { return d.Decode(t.Context(), item, o) },
				func() (any, error) { return d.admit(t.Context(), item, &o, admission.StageFinish) },
			}
			for stage := compiled.ServerBody; stage <= compiled.ServerBodyAndValidate; stage++ {
				calls = append(calls, func() (any, error) {
					v, _, err := d.serverWrite(t.Context(), compiled.ServerRequest{Stage: stage, Write: item, View: uint8(view), WithStatus: true})
					return v, err
				})
			}
			whole := o
			whole.Include = include
			v, err := d.Admit(t.Context(), item, whole)
			if err != nil || v.Allowed == (name == "another kind" || name == "violations") {
				t.Errorf("%s: %v, %+v", name, err, v)
			}
			calls = append(calls, func() (any, error) { return v, err })
			for _, call := range calls {
				if v, err := call(); err == nil {
					counts["admit"] += checkDocuments(t, name+": Admit", reflect.ValueOf(v))
				}
			}
			if v, err := d.Validate(t.Context(), item, ValidateOptions{WithStatus: true}); err == nil {
				counts["validate"] += checkDocuments(t, name+": Validate", reflect.ValueOf(v))
			}
			var object Document
			switch w := item.(type) {
			case Create:
				object = w.Object
			case Update:
				if object = w.Object; w.Subresource != "" {
					continue
				}
			default:
				continue
			}
			for method, do := range map[string]func(target string) (*Transformed, error){
				"Read": func(target string) (*Transformed, error) {
					return d.Read(t.Context(), object, ReadOptions{View: view, TargetVersion: target})
				},
				"Convert": func(target string) (*Transformed, error) {
					return d.Convert(t.Context(), object, target, TransformOptions{View: view})
				},
				"Prune": func(string) (*Transformed, error) { return d.Prune(t.Context(), object, TransformOptions{View: view}) },
				"Default": func(string) (*Transformed, error) {
					return d.Default(t.Context(), object, TransformOptions{View: view})
				},
			} {
				for _, target := range []string{"v1", "v1beta1"} {
					if v, err := do(target); err == nil {
						counts[method] += checkDocuments(t, name+": "+method, reflect.ValueOf(v))
					}
				}
			}
		}
		if counts["admit"] == 0 || name == "creation" && len(counts) != 6 {
			t.Errorf("%s: documents of results: %v", name, counts)
		}
	}
}

// TestDeclaredConversionIsCompact: line breaks in conversion rules and objects do not reach converted objects.
func TestDeclaredConversionIsCompact(t *testing.T) {
	crd, err := os.ReadFile("convert/testdata/tasks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := `{"crd":"tasks.example.com","between":["v1beta1","v1"],"rules":[
		{"cel":{"to":"spec.endpoint.host","expr":"self.spec.host"},"back":{"spec.host":"self.spec.endpoint.host"}},
		{"stash":{"path":"spec.note","maxBytes":100}}]}`
	d, report, err := Compile(t.Context(), YAML(crd), Options{Conversion: JSON(spread(t, []byte(rules)))})
	if err != nil || d == nil {
		t.Fatal(err, report)
	}
	object := JSON(spread(t, []byte(`{"apiVersion":"example.com/v1beta1","kind":"Task","metadata":{"name":"a","namespace":"b"},"spec":{"host":"h","note":"x"}}`)))
	v, err := d.Admit(t.Context(), Create{Object: object}, AdmitOptions{})
	if err != nil || !v.Allowed || checkDocuments(t, "Admit", reflect.ValueOf(v)) != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}
