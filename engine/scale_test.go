package engine

import (
	"context"
	"strings"
	"testing"
)

// TestScaleOfManyOwners: owner references of a Scale have the bound that those of an object have: apimachinery compares
// each with all others, and knows no deadline.
func TestScaleOfManyOwners(t *testing.T) {
	d := scaled(t)
	owners := func(n int) string { return `"ownerReferences":[` + numbered(n, `{"uid":"%d"}`) + `]` }
	scale := func(n int) Document {
		return JSON([]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"default",` + owners(n) + `},"spec":{"replicas":2}}`))
	}
	old := JSON([]byte(stored))
	patch := func(n int) Patch {
		body := JSON([]byte(`{"metadata":{` + owners(n) + `},"spec":{"replicas":2}}`))
		return Patch{Type: MergePatch, Body: body, Old: old, Subresource: "scale"}
	}
	for name, do := range map[string]func(n int) error{
		"Admit": func(n int) error {
			_, err := d.Admit(context.Background(), Update{Object: scale(n), Old: old, Subresource: "scale"}, AdmitOptions{})
			return err
		},
		"Admit of a patch": func(n int) error {
			_, err := d.Admit(context.Background(), patch(n), AdmitOptions{})
			return err
		},
	} {
		if err := do(10); err != nil {
			t.Errorf("%s of a few: %v", name, err)
		}
		if err := do(1001); ReasonOf(err) != ReasonLimitExceeded || !strings.HasPrefix(err.Error(), "Scale: size of metadata.ownerReferences") {
			t.Errorf("%s of many: %v", name, err)
		}
	}
}
