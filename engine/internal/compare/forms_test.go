package compare

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestForms compares schemas that accept the same values. Each schema of a case is compared with each other one.
func TestForms(t *testing.T) {
	text, err := os.ReadFile("testdata/forms.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name    string
		Schemas []Props
	}
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		for i := range tc.Schemas {
			for k := range tc.Schemas {
				r := compared(t, crdOf(&tc.Schemas[i]), crdOf(&tc.Schemas[k]))
				if r.Worst == Compatible {
					continue
				}
				for _, c := range r.Changes {
					if c.Class > Compatible {
						t.Errorf("%s: from %d to %d: %s %s: %s: %s", tc.Name, i, k, c.Kind, c.SchemaPointer, c.Impact, c.Message)
					}
				}
			}
		}
	}
}
