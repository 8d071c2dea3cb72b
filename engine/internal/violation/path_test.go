package violation

import "testing"

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
