package compare

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

func crdOf(v *Props) *CRD {
	crd := &CRD{}
	crd.Name = "things.example.com"
	root := &Props{Type: "object", Properties: map[string]Props{"v": *v}}
	crd.Spec.Versions = []version{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root}}}
	return crd
}

func noPosition(tree.Path) *tree.Position { return nil }

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

// TestRuleMessage: the message of a change names each field about the error of a rule that differs.
func TestRuleMessage(t *testing.T) {
	forbidden := apiextensionsv1.FieldValueForbidden
	old := Props{XValidations: apiextensionsv1.ValidationRules{{Rule: "true", Message: "a"}}}
	for want, r := range map[string]rule{
		`the same rule has another message ("b")`:                                    {Rule: "true", Message: "b"},
		`the same rule has another message (none), messageExpression ("'b'")`:        {Rule: "true", MessageExpression: "'b'"},
		`the same rule has another reason ("FieldValueForbidden"), fieldPath (".x")`: {Rule: "true", Message: "a", Reason: &forbidden, FieldPath: ".x"},
	} {
		changes := compared(t, crdOf(&old), crdOf(&Props{XValidations: apiextensionsv1.ValidationRules{r}})).Changes
		if len(changes) != 1 || changes[0].Message != want {
			t.Errorf("got %+v, want %s", changes, want)
		}
	}
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

// TestSame: same respects every field of a schema, except for the documentation.
func TestSame(t *testing.T) {
	documentation := []string{"ID", "Schema", "Title", "Description", "ExternalDocs", "Example"}
	fields := reflect.TypeFor[Props]()
	for i := range fields.NumField() {
		var s Props
		f := reflect.ValueOf(&s).Elem().Field(i)
		switch f.Kind() {
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
			f.SetMapIndex(reflect.ValueOf("a"), reflect.Zero(f.Type().Elem()))
		case reflect.Bool:
			f.SetBool(true)
		default:
			f.SetString("a")
		}
		name := fields.Field(i).Name
		if want := slices.Contains(documentation, name); same(&s, &Props{}) != want || !same(&s, s.DeepCopy()) {
			t.Errorf("%s: same is %t without it, %t with a copy", name, !want, same(&s, s.DeepCopy()))
		}
	}
}

// TestExhausted: if the limit of a search ends the comparison of logical operators, no change is breaking.
func TestExhausted(t *testing.T) {
	const fields = 40
	name := func(i int) string { return fmt.Sprintf("p%d", i%fields) }
	old := &Props{Type: "object", Properties: map[string]Props{}}
	for i := range fields {
		old.Properties[name(i)] = Props{Type: "string"}
		neither := Props{AnyOf: []Props{{Required: []string{name(i)}}, {Required: []string{name(i + 1)}}}}
		old.AllOf = append(old.AllOf, Props{OneOf: []Props{{Required: []string{name(i)}}, {Not: &neither}}})
	}
	// All fields or none: the search of the limit sees too few of the choices to know.
	new := old.DeepCopy()
	least, most := int64(fields/2), int64(fields/3)
	new.AllOf = append(new.AllOf, Props{AnyOf: []Props{{MinProperties: &least}, {MaxProperties: &most}}})
	r := compared(t, crdOf(old), crdOf(new))
	if len(r.Changes) != 1 || r.Worst != NeedsCare || r.Changes[0].Kind != "LogicalOperatorChanged" {
		t.Errorf("%+v", r.Changes)
	}
}
