package violation

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/value"
)

func TestSortKeepsTheOrderOfEachStep(t *testing.T) {
	of := func(s Step, name string) Violation { return Of(s, field.Required(field.NewPath(name), ""), nil) }
	list := []Violation{of(List, "a"), of(Schema, "b"), of(Metadata, "c"), of(Schema, "a"), of(Decode, "z")}
	Sort(list)
	var got []string
	for _, v := range list {
		got = append(got, string(v.Step)+" "+v.Field)
	}
	if want := []string{"DECODE z", "METADATA c", "SCHEMA b", "SCHEMA a", "LIST a"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestUniqueAndErrors(t *testing.T) {
	a, b := field.NewPath("a"), field.NewPath("b")
	list := []Violation{Of(Schema, field.Required(a, ""), nil), Of(List, field.Required(a, ""), nil), Of(Schema, field.Required(b, ""), nil)}
	if got := Unique(list); len(got) != 2 || got[0].Step != Schema || got[1].Field != "b" {
		t.Errorf("Unique = %v", got)
	}
	if errs := Errors(list); len(errs) != 3 || errs[2] != list[2].Error {
		t.Errorf("Errors = %v", errs)
	}
	if Errors(nil) != nil || Unique(nil) != nil {
		t.Error("nothing became something")
	}
}

func TestBlocking(t *testing.T) {
	for _, c := range []struct {
		err  *field.Error
		want bool
	}{
		{field.NotSupported(nil, "x", []string{"y"}), true},
		{field.Required(nil, ""), true},
		{field.TooLong(nil, "", 1), true},
		{field.TooMany(nil, 2, 1), true},
		{field.TypeInvalid(nil, "", ""), true},
		{field.Invalid(nil, "", ""), false},
		{field.Duplicate(nil, ""), false},
		{field.Forbidden(nil, ""), false},
	} {
		if got := Blocking([]Violation{Of(Schema, field.Invalid(nil, "", ""), nil), Of(Schema, c.err, nil)}); got != c.want {
			t.Errorf("Blocking(%s) = %v", c.err.Type, got)
		}
	}
}

func TestPosition(t *testing.T) {
	d := value.Acquire()
	defer d.Release()
	root, err := d.ParseJSON([]byte("{\n  \"a\": {\"b\": 1}\n}"), value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v := Violation{Path: value.Path{value.Name("a"), value.Name("b")}, Node: d.Field(d.Field(root, "a"), "b")}
	if got := v.Position(d); got.Line != 2 || got.Column != 14 {
		t.Errorf("of a value: %+v", got)
	}
	v = Violation{Path: value.Path{value.Name("a"), value.Name("missing")}}
	if got := v.Position(d); got.Line != 2 || got.Column != 8 {
		t.Errorf("of a missing value: %+v", got)
	}
}
