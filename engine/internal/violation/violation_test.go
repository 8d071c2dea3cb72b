package violation

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

func TestErrors(t *testing.T) {
	a, b := field.Required(field.NewPath("a"), ""), field.Required(field.NewPath("b"), "")
	if errs := Errors([]Violation{Of(Schema, a, nil), Of(List, a, nil), Of(Schema, b, nil)}); !slices.Equal(errs, field.ErrorList{a, a, b}) {
		t.Errorf("Errors = %v", errs)
	}
	if Errors(nil) != nil {
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
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON([]byte("{\n  \"a\": {\"b\": 1}\n}"), tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v := Violation{Path: tree.Path{tree.Name("a"), tree.Name("b")}, Node: d.Field(d.Field(root, "a"), "b")}
	if got := v.Locate(d); got.Line != 2 || got.Column != 14 {
		t.Errorf("of a value: %+v", got)
	}
	v = Violation{Path: tree.Path{tree.Name("a"), tree.Name("missing")}}
	if got := v.Locate(d); got.Line != 2 || got.Column != 8 {
		t.Errorf("of a missing value: %+v", got)
	}
}

func TestPathOf(t *testing.T) {
	for field, want := range map[string]string{
		"":                                "",
		".":                               "",
		"spec":                            "/spec",
		"metadata.ownerReferences[0].uid": "/metadata/ownerReferences/0/uid",
		"metadata.labels[a.b/c]":          "/metadata/labels/a.b~1c",
		"spec.properties[x].items":        "/spec/properties/x/items",
		"[1][2]":                          "/1/2",
		"spec[":                           "/spec/",
		"spec[unclosed":                   "/spec/unclosed",
		"spec.versions[0].schema.a~b":     "/spec/versions/0/schema/a~0b",
	} {
		if got := PathOf(field).Pointer(); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}
