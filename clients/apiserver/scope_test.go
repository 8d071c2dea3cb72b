package apiserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
)

// TestConverter: the strategy None keeps fields that the other version does not declare, and only versions of the CRD can
// be converted. Field managers depend on both.
func TestConverter(t *testing.T) {
	c := newConverter(lamps(t), lampCRD())
	for _, test := range []struct {
		from   string // apiVersion
		target schema.GroupVersion
		want   string // part of the error
	}{
		{"example.com/v1", schema.GroupVersion{Group: "example.com", Version: "v1beta1"}, ""},
		{"example.com/v1", schema.GroupVersion{Version: "v1"}, "is not suitable for converting"},
		{"example.com/v1", schema.GroupVersion{Group: "example.com", Version: "v7"}, "to an invalid group/version: example.com/v7"},
		{"example.com/v7", lampKind.GroupVersion(), "from an invalid group/version: example.com/v7"},
		{"autoscaling/v1", schema.GroupVersion{Group: "autoscaling", Version: "v1"}, "to an invalid group/version: autoscaling/v1"},
	} {
		u := &unstructured.Unstructured{}
		if err := unmarshal([]byte(lamp), u); err != nil {
			t.Fatal(err)
		}
		u.SetAPIVersion(test.from)
		out, err := c.ConvertToVersion(u, test.target)
		switch {
		case test.want != "":
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s to %s: got %v, want %q", test.from, test.target, err, test.want)
			}
			continue
		case err != nil:
			t.Fatal(err)
		}
		converted := out.(*unstructured.Unstructured)
		volts, _, _ := unstructured.NestedFieldNoCopy(converted.Object, "spec", "volts")
		if converted.GetAPIVersion() != test.target.String() || volts != int64(2) || u.GetAPIVersion() != test.from {
			t.Errorf("got %v of %v", converted, u)
		}
	}
}

// undefaulting is a Definition whose evaluator does not answer calls of Default.
type undefaulting struct{ Definition }

func (undefaulting) SetDefaults(context.Context, engine.Document, engine.TransformOptions) (*engine.Transformed, error) {
	return nil, errDown
}

// TestDefaulterDown: the store rejects an object without the defaults that the evaluator could not set.
func TestDefaulterDown(t *testing.T) {
	ctx := withOutcome(t.Context())
	u := &unstructured.Unstructured{}
	if err := unmarshal([]byte(lamp), u); err != nil {
		t.Fatal(err)
	}
	d := lamps(t)
	defaulter{undefaulting{d}, ctx}.Default(u)
	s := &strategy{definition: d, version: "v1", namespaced: true, written: &writtenObjects{}}
	s.PrepareForCreate(ctx, u)
	if len(s.Validate(ctx, u)) != 1 || !strings.Contains(rejection(ctx, errors.New("invalid")).Error(), errDown.Error()) {
		t.Errorf("not rejected: %v", outcomeOf(ctx).err)
	}
}
