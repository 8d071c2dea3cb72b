package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// richCRD has what the pipelines tell apart: two versions, defaults, nullables, an embedded resource, a set,
// subresources.
const richCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
  - name: v1alpha1
    served: true
    storage: false
    deprecated: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 3}
              color: {type: string, enum: [red, blue]}
              note: {type: string, nullable: true}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {size: {type: integer}}}
  - name: v0
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func rich(t *testing.T) *Definition {
	t.Helper()
	d, report, err := Compile(context.Background(), YAML([]byte(richCRD)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d == nil {
		t.Fatalf("rejected: %+v", report.Violations)
	}
	return d
}

func gadget(rest string) Document {
	return JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d"}` + rest + `}`))
}

// convertTo returns Convert to a version as a call like Prune.
func convertTo(d *Definition, to string) func(context.Context, Document, TransformOptions) (*Transformed, error) {
	return func(ctx context.Context, object Document, o TransformOptions) (*Transformed, error) {
		return d.Convert(ctx, object, to, o)
	}
}

// TestOtherKind: an object of another kind is not changed, and a note names both kinds.
func TestOtherKind(t *testing.T) {
	d := rich(t)
	object := JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadgets","metadata":{"name":"g"},"unknown":1}`))
	for name, do := range map[string]func(context.Context, Document, TransformOptions) (*Transformed, error){
		"Prune": d.Prune, "Default": d.Default, "Convert": convertTo(d, "v1"),
		"Read": func(ctx context.Context, object Document, _ TransformOptions) (*Transformed, error) {
			return d.Read(ctx, object, ReadOptions{})
		},
	} {
		got, err := do(t.Context(), object, TransformOptions{})
		if err != nil || got.Changed || len(got.Warnings) != 1 || got.Warnings[0].Type != TypeNotice ||
			!strings.Contains(got.Warnings[0].Text, `the CRD's kind Gadget, and this one is of kind "Gadgets"`) {
			t.Errorf("%s: %v %+v", name, err, got)
		}
		if got, err = do(t.Context(), gadget(""), TransformOptions{}); err != nil || len(got.Warnings) > 0 {
			t.Errorf("%s of its kind: %v %+v", name, err, got)
		}
	}
}

func place(p *Position) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

func TestErrors(t *testing.T) {
	d := rich(t)
	background := context.Background()
	cancelled, cancel := context.WithCancel(background)
	cancel()
	late, stop := context.WithDeadline(background, time.Unix(0, 0))
	defer stop()
	tests := []struct {
		name string
		ctx  context.Context
		item Write
		do   func(context.Context, Document, TransformOptions) (*Transformed, error)
		want Reason
	}{
		{name: "no object", want: ReasonInvalidArgument},
		{name: "two texts", item: Create{Object: Document{JSON: []byte("{}"), YAML: []byte("{}")}}, want: ReasonInvalidArgument},
		{name: "scale of nothing", item: Update{Object: gadget(""), Subresource: "scale"}, want: ReasonInvalidArgument},
		{name: "status without an old object", item: Update{Object: gadget(""), Subresource: "status"}, want: ReasonInvalidArgument},
		{name: "two texts of the old object", item: Update{Object: gadget(""), Old: Document{JSON: []byte("{}"), YAML: []byte("{}")}}, want: ReasonInvalidArgument},
		{name: "no such subresource", item: Update{Object: gadget(""), Old: gadget(""), Subresource: "log"}, want: ReasonInvalidArgument},
		{name: "too large", item: Create{Version: "v1", Object: JSON(make([]byte, 4<<20))}, want: ReasonLimitExceeded},
		{name: "cancelled", ctx: cancelled, item: Create{Object: gadget("")}, want: ReasonItemDeadline},
		{name: "late", ctx: late, item: Create{Object: gadget("")}, want: ReasonItemDeadline},
		{name: "convert to nothing", do: convertTo(d, ""), item: Create{Object: gadget("")}, want: ReasonInvalidArgument},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := tt.ctx
			if ctx == nil {
				ctx = background
			}
			var err error
			if tt.do != nil {
				create, _ := tt.item.(Create)
				_, err = tt.do(ctx, create.Object, TransformOptions{Version: create.Version})
			} else {
				_, err = d.Validate(ctx, tt.item, ValidateOptions{})
			}
			var e *Error
			if !errors.As(err, &e) || e.Reason != tt.want || e.Message == "" {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if e != nil && e.Reason == ReasonObjectRejected && e.Rejection == nil {
				t.Error("no rejection")
			}
		})
	}
}
