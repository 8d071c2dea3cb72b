package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

func TestCheck(t *testing.T) {
	const brokenYAML = `# two findings
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  surprise: 1
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          a: {type: strin}
          b: {type: string, format: k8s-short-name, minLength: 1, minLength: 2}
    additionalPrinterColumns:
    - {name: A, type: string, jsonPath: nodot}
`
	r, err := Check(context.Background(), YAML([]byte(brokenYAML)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range r.Violations {
		got = append(got, fmt.Sprintf("%s | %s | %s | %s", v.Field, v.Pointer, v.SchemaPointer, place(v.Position)))
	}
	want := []string{
		"spec.validation.openAPIV3Schema.properties[a].type | /spec/versions/0/schema/openAPIV3Schema/properties/a/type | /properties/a/type | 19:21",
		"spec.additionalPrinterColumns[0].JSONPath | /spec/versions/0/additionalPrinterColumns/0/jsonPath |  | 22:41",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("violations\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	if r.Accepted || r.Rejection == nil || r.Rejection.Code != 422 || r.LowestKubernetes != "1.34" {
		t.Errorf("report %+v", r)
	}
	if warnings := []string{`line 20: key "minLength" already set in map`, `unknown field "spec.surprise"`}; !slices.Equal(textsOf(r.Warnings), warnings) {
		t.Errorf("warnings %q, want %q", textsOf(r.Warnings), warnings)
	}
}

func TestReport(t *testing.T) {
	d, r, err := Compile(context.Background(), YAML([]byte(richCRD)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, v := range r.Versions {
		versions = append(versions, fmt.Sprintf("%s %d %d %v %v %v", v.Name, v.Priority, v.Index, v.Served, v.Storage, v.Deprecated))
	}
	if want := []string{"v1 0 1 true true false", "v0 1 2 false false false", "v1alpha1 2 0 true false true"}; !slices.Equal(versions, want) {
		t.Errorf("versions %q, want %q", versions, want)
	}
	if d.Name() != "gadgets.example.com" || d.Group() != "example.com" || d.Kind() != "Gadget" || d.Plural() != "gadgets" ||
		d.Scope() != apiextensionsv1.NamespaceScoped || d.StorageVersion() != "v1" || d.Size() < int64(len(d.Manifest())) {
		t.Errorf("%s %s %s %s %s %s %d", d.Name(), d.Group(), d.Kind(), d.Plural(), d.Scope(), d.StorageVersion(), d.Size())
	}
	again, err := compileStored(context.Background(), d.Manifest(), Options{})
	if err != nil || again.Revision() != d.Revision() || string(again.Manifest()) != string(d.Manifest()) {
		t.Errorf("compiled from its own manifest: %v, %s and %s", err, again.Revision(), d.Revision())
	}
	if older, err := compileStored(context.Background(), d.Manifest(), Options{Kubernetes: "1.33"}); err != nil || older.Revision() == d.Revision() {
		t.Errorf("another minor has the same revision (%v)", err)
	}
}

func TestRules(t *testing.T) {
	crd := strings.Replace(cronTabCRD, `"spec":{"type":"object","required"`, `"spec":{"type":"object","x-kubernetes-validations":[{"rule":"self.cronSpec == 'never'"}],"required"`, 1)
	d, r, err := Compile(context.Background(), JSON([]byte(crd)), Options{})
	if err != nil || d == nil || !r.HasRules || !r.Versions[0].HasRules || len(r.Warnings) != 0 {
		t.Fatalf("%v %+v", err, r)
	}
	v, err := d.Validate(context.Background(), Create{Object: JSON([]byte(cronTab))}, ValidateOptions{})
	if err != nil || v.Allowed || len(v.Violations) != 1 || v.Violations[0].Error() != "spec: Invalid value: failed rule: self.cronSpec == 'never'" {
		t.Errorf("%v %+v", err, v)
	}
}

func TestManifestErrors(t *testing.T) {
	tests := []struct {
		name     string
		manifest Document
		options  Options
		want     Reason
	}{
		{"none", Document{}, Options{}, ReasonInvalidArgument},
		{"two", Document{JSON: []byte("{}"), YAML: []byte("{}")}, Options{}, ReasonInvalidArgument},
		{"no JSON", JSON([]byte(`{"a":`)), Options{}, ReasonManifestUnreadable},
		{"no YAML", YAML([]byte("a: [")), Options{}, ReasonManifestUnreadable},
		{"no CRD", JSON([]byte(`{"apiVersion":"v1","kind":"Pod"}`)), Options{}, ReasonNotACRD},
		{"no object", JSON([]byte(`[]`)), Options{}, ReasonManifestUnreadable},
		{"too large", JSON([]byte(cronTabCRD)), Options{Limits: tree.Limits{MaxBytes: 100}}, ReasonLimitExceeded},
		{"too deep", JSON([]byte(cronTabCRD)), Options{Limits: tree.Limits{MaxDepth: 4}}, ReasonLimitExceeded},
		{"unknown minor", JSON([]byte(cronTabCRD)), Options{Kubernetes: "1.12"}, ReasonInvalidArgument},
	}
	for _, tt := range tests {
		d, r, err := Compile(context.Background(), tt.manifest, tt.options)
		if d != nil || r != nil || ReasonOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	var e *Error
	if _, err := Check(context.Background(), JSON([]byte("{\n \"a\":}")), Options{}); !errors.As(err, &e) || e.Position == nil || e.Position.Line != 2 {
		t.Errorf("no position: %+v", e)
	}
	r, err := Check(context.Background(), JSON([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"x.y"},"spec":{"group":7}}`)), Options{})
	if err != nil || r.Accepted || r.Name != "x.y" || r.Rejection.Code != 400 || !strings.Contains(r.Rejection.Message, "cannot unmarshal number") {
		t.Errorf("%v %+v", err, r)
	}
}

type panicking struct{}

func (panicking) Convert(context.Context, conversionwebhook.Request) ([][]byte, error) {
	panic("a converter's own")
}

type recorder struct {
	mu        sync.Mutex
	compiled  []host.CompileEvent
	evaluated []host.EvaluationEvent
}

func (r *recorder) Compiled(_ context.Context, e host.CompileEvent) {
	r.mu.Lock()
	r.compiled = append(r.compiled, e)
	r.mu.Unlock()
}

func (r *recorder) Evaluated(_ context.Context, e host.EvaluationEvent) {
	r.mu.Lock()
	r.evaluated = append(r.evaluated, e)
	r.mu.Unlock()
}

// TestConcurrent evaluates from many goroutines, some of which see a converter panic: the others must not notice.
func TestConcurrent(t *testing.T) {
	ctx := context.Background()
	crd := strings.Replace(richCRD, "  scope: Namespaced", "  scope: Namespaced\n  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://x'}}}", 1)
	observer := &recorder{}
	d, _, err := Compile(ctx, YAML([]byte(crd)), Options{Converter: panicking{}, Observer: observer})
	if err != nil || d == nil {
		t.Fatal(err)
	}
	offline, _, err := Compile(ctx, YAML([]byte(crd)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := offline.Convert(ctx, gadget(""), "v1alpha1", TransformOptions{}); ReasonOf(err) != ReasonConversionUnavailable {
		t.Errorf("offline: %v", err)
	}
	if got, err := offline.Convert(ctx, gadget(""), "v1", TransformOptions{}); err != nil || got.Changed {
		t.Errorf("to its own version: %v %+v", err, got)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if i%4 == 0 {
					if _, err := d.Convert(ctx, gadget(""), "v1alpha1", TransformOptions{}); ReasonOf(err) != ReasonInternal {
						t.Errorf("a panic of the converter: %v", err)
					}
					continue
				}
				v, err := d.Validate(ctx, Create{Object: gadget(`,"spec":{"tags":["a","a"]}`)}, ValidateOptions{})
				if err != nil || len(v.Violations) != 1 || v.Violations[0].Error() != `spec.tags[1]: Duplicate value: "a"` {
					t.Errorf("%v %+v", err, v)
				}
			}
		})
	}
	wg.Wait()
	if len(observer.compiled) != 3 || len(observer.evaluated) != 300 || !observer.evaluated[0].Exact || observer.evaluated[0].Violations != 1 || observer.evaluated[0].Version != "v1" {
		t.Errorf("%d compiled, %d evaluated, the first %+v", len(observer.compiled), len(observer.evaluated), observer.evaluated[0])
	}
}

func TestTypeMetaOf(t *testing.T) {
	tests := []struct {
		doc           Document
		version, kind string
		reason        Reason
	}{
		{JSON([]byte(`{"kind":"K","apiVersion":"a/v1"}`)), "a/v1", "K", ""},
		{JSON([]byte(`{"kind":"\u004b","apiVersion":1}`)), "", "K", ""},
		{YAML([]byte("kind: K\napiVersion: v1\n")), "v1", "K", ""},
		{JSON([]byte(`[]`)), "", "", ""},
		{JSON([]byte(`{`)), "", "", ReasonObjectUnreadable},
		{Document{}, "", "", ReasonInvalidArgument},
	}
	for _, tt := range tests {
		version, kind, err := tt.doc.TypeMeta(Limits{})
		if version != tt.version || kind != tt.kind || ReasonOf(err) != tt.reason {
			t.Errorf("%s%s: %q %q %v", tt.doc.JSON, tt.doc.YAML, version, kind, err)
		}
	}
}
