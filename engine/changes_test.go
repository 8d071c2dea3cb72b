package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/host"
)

// TestManyChanges checks that reported changes are bounded, and charged before they are built. The object and the
// warnings do not depend on the bound.
func TestManyChanges(t *testing.T) {
	schema := crdOf(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer","default":1}}}}}}`)
	var fields strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&fields, `"u%05d":0,`, i)
	}
	object := Create{Object: JSON([]byte(objectOf(`{` + fields.String() + `"list":[` + strings.Repeat("{},", 100) + `{}]}`)))}
	d := mustCompile(t, schema)
	compiled, _, err := Compile(t.Context(), JSON([]byte(schema)), Options{Limits: Limits{MaxViolations: 1_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := compiled.Admit(t.Context(), object, AdmitOptions{})
	if err != nil || len(all.Pruned)+len(all.Defaulted) != 30_101 || all.OmittedChanges != 0 {
		t.Fatalf("%d and %d changes, %d omitted, %v", len(all.Pruned), len(all.Defaulted), all.OmittedChanges, err)
	}
	for _, call := range []func() (*Verdict, error){
		func() (*Verdict, error) { return d.Admit(t.Context(), object, AdmitOptions{}) },
		func() (*Verdict, error) {
			p, err := d.Prune(t.Context(), object.Object, TransformOptions{})
			if err != nil {
				return nil, err
			}
			return &Verdict{Pruned: p.Pruned, Defaulted: p.Defaulted, OmittedChanges: p.OmittedChanges + 101, Object: all.Object, Warnings: all.Warnings}, nil
		},
	} {
		v, err := call()
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Pruned) != 10_000 || len(v.Defaulted) != 0 || v.OmittedChanges != 20_101 || v.Pruned[9_999].Path != "spec.u09999" {
			t.Errorf("%d and %d changes, %d omitted", len(v.Pruned), len(v.Defaulted), v.OmittedChanges)
		}
		if string(v.Object) != string(all.Object) || !slices.Equal(textsOf(v.Warnings), textsOf(all.Warnings)) {
			t.Error("the object or the warnings depend on the bound")
		}
	}

	embedded := mustCompile(t, crdOf(`{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`))
	undecodable := Create{Object: JSON([]byte(objectOf(`{` + fields.String() + `"e":{"apiVersion":"v1","kind":"A","metadata":{"labels":1}}}`)))}
	v, err := embedded.Validate(t.Context(), undecodable, ValidateOptions{})
	if err != nil || v.Rejection == nil || len(v.Pruned) != 0 || v.OmittedChanges != 0 {
		t.Errorf("an object that cannot be decoded: %v %v", v, err)
	}

	for _, validation := range []FieldValidation{FieldValidationWarn, FieldValidationStrict} {
		var held, peak int64
		for _, most := range []int64{1 << 40, 0} {
			if most == 0 {
				most = peak / 2
			}
			ctx := host.WithHooks(t.Context(), &host.Hooks{Grow: ledger(&held, &peak, most)})
			_, err := d.Validate(ctx, object, ValidateOptions{FieldValidation: validation})
			if errors.Is(err, errNoMemory) != (most < 1<<40) || held != 0 {
				t.Errorf("at most %d bytes: %v, %d bytes are left", most, err, held)
			}
		}
		if peak < 5_000_000 {
			t.Errorf("peak of %d bytes", peak)
		}
	}
}
