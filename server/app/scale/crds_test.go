package main

import (
	"testing"

	"github.com/crdeval/crdeval/engine"
)

// TestGenerated: the CRDs are accepted and distinct, and each has a valid and an invalid object.
func TestGenerated(t *testing.T) {
	samples, err := readSamples("../../../deploy/samples")
	if err != nil {
		t.Fatal(err)
	}
	revisions, sizes := map[string]bool{}, [3]int{}
	for i := range 60 {
		text, err := crd(i, samples)
		if err != nil {
			t.Fatal(err)
		}
		definition, report, err := engine.Compile(t.Context(), engine.JSON(text), engine.Options{})
		if err != nil || !report.Accepted {
			t.Fatalf("CRD %d: %v, %+v", i, err, report)
		}
		revisions[definition.Revision()] = true
		sizes[min(len(text)/(10<<10), 2)]++
		all, err := objects(i, samples)
		if err != nil {
			t.Fatal(err)
		}
		for n, o := range all {
			verdict, err := definition.Validate(t.Context(), engine.Item{Object: engine.JSON(o)}, engine.EvaluationOptions{})
			if err != nil || verdict.Allowed != (n == 0) {
				t.Errorf("CRD %d, object %d: %v, %+v", i, n, err, verdict)
			}
		}
	}
	if len(revisions) != 60 || sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0 {
		t.Errorf("%d different CRDs; by size %v", len(revisions), sizes)
	}
}
