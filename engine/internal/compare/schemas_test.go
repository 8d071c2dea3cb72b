package compare

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/value"
)

func crdOf(v *Props) *CRD {
	crd := &CRD{}
	crd.Name = "things.example.com"
	root := &Props{Type: "object", Properties: map[string]Props{"v": *v}}
	crd.Spec.Versions = []version{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root}}}
	return crd
}

func noPosition(value.Path) *value.Position { return nil }

func compared(t *testing.T, old, new *CRD) *Result {
	t.Helper()
	r, err := CRDs(t.Context(), old, new, Options{
		Minor: format.LatestMinor, Most: 100, Stored: []string{"v1"}, OldPosition: noPosition, NewPosition: noPosition,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var classNames = [...]string{"compatible", "care", "breaking"}

func (i Impact) String() string {
	return classNames[i.Stored] + " " + classNames[i.Writers] + " " + classNames[i.Readers]
}

// TestSchemas goes through the keywords. A case of testdata/schemas.yaml is two schemas of the field v.
func TestSchemas(t *testing.T) {
	text, err := os.ReadFile("testdata/schemas.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Old, New Props
		Want     []string
	}
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		r := compared(t, crdOf(&tc.Old), crdOf(&tc.New))
		var got []string
		for _, c := range r.Changes {
			got = append(got, fmt.Sprintf("%s %s: %s", c.Kind, strings.TrimPrefix(c.SchemaPointer, "/properties/v"), c.Impact))
			if c.Message == "" || c.Version != "v1" {
				t.Errorf("%s: %+v", tc.Name, c)
			}
		}
		if !slices.Equal(got, tc.Want) {
			t.Errorf("%s: got\n  %s\nwant\n  %s", tc.Name, strings.Join(got, "\n  "), strings.Join(tc.Want, "\n  "))
		}
	}
}
