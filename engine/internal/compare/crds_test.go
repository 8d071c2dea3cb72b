package compare

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCRDs goes through what a CRD has beside schemas. A case of testdata/crds.yaml is two CRDs.
func TestCRDs(t *testing.T) {
	text, err := os.ReadFile("testdata/crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Old, New CRD
		Want     []string
	}
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		for _, crd := range []*CRD{&tc.Old, &tc.New} {
			if crd.Name == "" {
				crd.Name = "things.example.com"
			}
		}
		r := compared(t, &tc.Old, &tc.New)
		var got []string
		for _, c := range r.Changes {
			got = append(got, fmt.Sprintf("%s %s%s: %s", c.Kind, c.ManifestPointer, strings.TrimSuffix(" "+c.Version, " "), c.Impact))
			if c.Message == "" {
				t.Errorf("%s: %+v", tc.Name, c)
			}
		}
		if !slices.Equal(got, tc.Want) {
			t.Errorf("%s: got\n  %s\nwant\n  %s", tc.Name, strings.Join(got, "\n  "), strings.Join(tc.Want, "\n  "))
		}
	}
}

// TestBounded checks that at most the requested number of changes is reported, and that the rest is counted.
func TestBounded(t *testing.T) {
	old, new := &Props{Type: "object", Properties: map[string]Props{}}, &Props{Type: "object"}
	for i := range 1000 {
		old.Properties[fmt.Sprintf("p%03d", i)] = Props{Type: "string"}
	}
	r := compared(t, crdOf(old), crdOf(new))
	if len(r.Changes) != 100 || r.Omitted != 900 || r.Worst != Breaking || r.Changes[99].SchemaPointer != "/properties/v/properties/p099" {
		t.Errorf("%d changes, %d omitted, worst %s, the last at %s", len(r.Changes), r.Omitted, r.Worst, r.Changes[len(r.Changes)-1].SchemaPointer)
	}
}

// TestLongValues checks that a long value is omitted, but still counts as present.
func TestLongValues(t *testing.T) {
	old := &Props{Type: "object", Properties: map[string]Props{"a": {Type: "string", Description: strings.Repeat("x", maxValueBytes)}, "b": {Type: "string"}}}
	r := compared(t, crdOf(old), crdOf(&Props{Type: "object"}))
	if c := r.Changes[0]; c.Old != nil || c.New != nil || c.ManifestPointer != "/spec/versions/0/schema/openAPIV3Schema/properties/v/properties/a" {
		t.Errorf("%+v", c)
	}
	if c := r.Changes[1]; string(c.Old) != `{"type":"string"}` {
		t.Errorf("%s", c.Old)
	}
}
