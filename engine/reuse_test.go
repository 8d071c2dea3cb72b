package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/compiled"
)

const reuseCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bags.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: bags, singular: bag, kind: Bag, listKind: BagList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {
        color: {type: string, enum: [red, green]},
        size: {type: string, pattern: '^[a-z ]+$', default: small},
        items: {type: object, additionalProperties: {type: integer}},
        rest: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}
`

// TestResultsOutliveMemory checks that no result shares memory that later evaluations reuse.
func TestResultsOutliveMemory(t *testing.T) {
	d, ctx := compileCRD(t, reuseCRD), context.Background()
	body := func(i int, spec string) []byte {
		return fmt.Appendf(nil, "apiVersion: example.com/v1\nkind: Bag\nmetadata: {name: bag-%04d, namespace: ns}\nspec:\n%s", i, spec)
	}
	specs := []string{
		"  size: large\n  rest:\n    text: |\n      first %[1]d\n      second\n",
		"  color: blue%[1]d\n  size: UPPER%[1]d\n  items: {a%[1]d: x, \"b\\n%[1]d\": \"y\\n%[1]d\"}\n",
		"  unknown%[1]d: 1\n  \"un\\tknown%[1]d\": 1\n  color: red\n",
	}
	calls := map[string]func(Create) (any, error){
		"Validate": func(c Create) (any, error) { return d.Validate(ctx, c, ValidateOptions{}) },
		"Admit":    func(c Create) (any, error) { return d.Admit(ctx, c, AdmitOptions{}) },
		"Decode":   func(c Create) (any, error) { return d.Decode(ctx, c, AdmitOptions{}) },
		"Finish":   func(c Create) (any, error) { return d.Finish(ctx, c, AdmitOptions{}) },
		"Prune":    func(c Create) (any, error) { return d.Prune(ctx, c.Object, TransformOptions{Version: c.Version}) },
		"Default":  func(c Create) (any, error) { return d.Default(ctx, c.Object, TransformOptions{Version: c.Version}) },
		"Read":     func(c Create) (any, error) { return d.Read(ctx, c.Object, ReadOptions{Version: c.Version}) },
	}
	for stage := compiled.ServerBody; stage <= compiled.ServerBodyAndValidate; stage++ {
		calls[fmt.Sprintf("stage %d of a server", stage)] = func(c Create) (any, error) {
			v, _, err := d.serverWrite(ctx, compiled.ServerRequest{Stage: stage, Write: c})
			return v, err
		}
	}
	for name, call := range calls {
		for _, convert := range []func([]byte) Document{YAML, toJSON(t)} {
			type kept struct {
				result any
				text   []byte
			}
			var all []kept
			for i := range 12 {
				document := convert(body(i, fmt.Sprintf(specs[i%len(specs)], i)))
				result, err := call(Create{Version: "v1", Object: document})
				if err != nil {
					t.Fatal(name, err)
				}
				text, err := json.Marshal(result)
				if err != nil {
					t.Fatal(name, err)
				}
				all = append(all, kept{result, text})
			}
			for _, k := range all {
				if text, err := json.Marshal(k.result); err != nil || !bytes.Equal(text, k.text) {
					t.Fatalf("%s: a later evaluation changed a result\n%s\nto %v\n%s", name, k.text, err, text)
				}
			}
		}
	}
}

func toJSON(t *testing.T) func([]byte) Document {
	return func(text []byte) Document {
		t.Helper()
		out, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		return JSON(out)
	}
}
