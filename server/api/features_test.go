package api_test

import (
	"context"
	"slices"
	"testing"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestFeatures: every feature is there but those that are named here, and every limit that is published has a value.
func TestFeatures(t *testing.T) {
	w := start(t, nil)
	info, err := w.server.GetServerInfo(context.Background(), &crdevalv1.GetServerInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	later := []crdevalv1.Feature{crdevalv1.Feature_FEATURE_UNSPECIFIED, crdevalv1.Feature_FEATURE_CONVERSION_WEBHOOKS}
	for number := range crdevalv1.Feature_name {
		if f := crdevalv1.Feature(number); slices.Contains(info.GetFeatures(), f) == slices.Contains(later, f) {
			t.Errorf("%s: listed %v", f, slices.Contains(info.GetFeatures(), f))
		}
	}
	if !slices.IsSorted(info.GetFeatures()) {
		t.Errorf("%v are not in their order", info.GetFeatures())
	}
	limits := info.GetLimits().ProtoReflect()
	for i := range limits.Descriptor().Fields().Len() {
		if f := limits.Descriptor().Fields().Get(i); !limits.Has(f) {
			t.Errorf("%s has no value", f.Name())
		}
	}
}
