package engine

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/testenv"
)

const manyCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
"spec":{"group":"example.com","names":{"kind":"Thing","plural":"things"},"scope":"Namespaced","versions":[
{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
  "spec":{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}}}}}}]}}`

// TestManyPositions checks that very many removed fields are reported with their positions, in a time that grows with
// their number and not with its square, which would take minutes; API servers go through them once.
func TestManyPositions(t *testing.T) {
	testenv.SingleGoroutine(t)
	d, _, err := Compile(t.Context(), JSON([]byte(manyCRD)), Options{Limits: Limits{MaxViolations: 1 << 20, MaxViolationBytes: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	const n, most = 100_000, 30 * time.Second // a second on an idle machine
	object := func(metadata, spec string) Document {
		return JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x","namespace":"default","resourceVersion":"1"` + metadata + `},"spec":{` + spec + `}}`))
	}
	unknown := numbered(n, `"u%07d":1`)
	old := object("", "")
	patched := func(of PatchType, patch Document) func(context.Context) ([]FieldChange, error) {
		return func(ctx context.Context) ([]FieldChange, error) {
			v, err := d.Validate(ctx, Patch{Type: of, Body: patch, Old: old}, ValidateOptions{})
			if err != nil {
				return nil, err
			}
			return v.Pruned, nil
		}
	}
	read := func(object Document) func(context.Context) ([]FieldChange, error) {
		return func(ctx context.Context) ([]FieldChange, error) {
			v, err := d.Read(ctx, object, ReadOptions{})
			if err != nil {
				return nil, err
			}
			return v.Pruned, nil
		}
	}
	merge, operation := JSON([]byte(`{"spec":{`+unknown+`}}`)), JSON([]byte(`[{"op":"add","path":"/spec","value":{`+unknown+`}}]`))
	mergeYAML := YAML([]byte(`{"spec": {` + numbered(n/4, `"u%07d": 1`) + `}}`))
	metadata := object(`,"labels":5,`+unknown, "")
	embedded := object("", `"list":[`+numbered(n/2, `{"apiVersion":"v1","kind":"A","metadata":{"x":%d}}`)+`]`)
	for _, c := range []struct {
		name   string
		do     func(context.Context) ([]FieldChange, error)
		in     []byte
		pruned int
		second string // of those removed, in the order of their paths
	}{
		{"merge patch", patched(MergePatch, merge), merge.JSON, n, `"u0000001"`},
		{"JSON patch", patched(JSONPatch, operation), operation.JSON, n, `"u0000001"`},
		{"merge patch in YAML", patched(MergePatch, mergeYAML), mergeYAML.YAML, n / 4, `"u0000001"`},
		{"metadata", read(metadata), metadata.JSON, n, `"u0000001"`},
		{"embedded metadata", read(embedded), embedded.JSON, n / 2, `"x":10000}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), most)
			defer cancel()
			pruned, err := c.do(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if len(pruned) != c.pruned {
				t.Fatalf("%d fields were removed, want %d", len(pruned), c.pruned)
			}
			if at := pruned[1].Position; at == nil || at.Offset != bytes.Index(c.in, []byte(c.second)) {
				t.Errorf("%s stands at %+v, want offset %d", pruned[1].Path, at, bytes.Index(c.in, []byte(c.second)))
			}
		})
	}
}

// numbered is n times a text, each time with its number.
func numbered(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

// TestLongPositions: a map's key of a megabyte is in the place of everything below it. Places of traces and of changes are
// bounded.
func TestLongPositions(t *testing.T) {
	const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
"spec":{"group":"example.com","names":{"kind":"Thing","plural":"things"},"scope":"Namespaced","versions":[
{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
  "spec":{"type":"object","additionalProperties":{"type":"array","maxItems":500,"items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]}}},
  "more":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}}}}}}]}}`
	d, report, err := Compile(context.Background(), JSON([]byte(crd)), Options{})
	if err != nil || d == nil {
		t.Fatal(err, report)
	}
	object := func(member, below string) Create {
		return Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x","namespace":"default"},"` + member + `":{"` +
			strings.Repeat("k", 1_000_000) + `":` + below + `}}`))}
	}
	const n = 500
	v, err := d.Validate(context.Background(), object("spec", `[`+strings.Repeat("2,", n-1)+`2]`), ValidateOptions{Trace: rules.TraceAll})
	if err != nil {
		t.Fatal(err)
	}
	if !v.Allowed || len(v.Traces) < 2 || len(v.Traces) > 10 || len(v.Traces)+v.OmittedTraces != n {
		t.Errorf("allowed %v, %d traces and %d more", v.Allowed, len(v.Traces), v.OmittedTraces)
	}
	unknown := object("more", `{`+numbered(1000, `"u%d":1`)+`}`)
	for name, do := range map[string]func() error{
		"Validate": func() error { _, err := d.Validate(context.Background(), unknown, ValidateOptions{}); return err },
		"Prune":    func() error { _, err := d.Prune(context.Background(), unknown.Object, TransformOptions{}); return err },
	} {
		if err := do(); ReasonOf(err) != ReasonLimitExceeded {
			t.Errorf("%s of 1000 unknown fields below a key of a megabyte: %v, want %s", name, err, ReasonLimitExceeded)
		}
	}
}
