package tree

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestPathRenderings(t *testing.T) {
	for _, c := range []struct {
		path                       Path
		pointer, dotted, bracketed string
		field                      *field.Path
	}{
		{nil, "", "", "<nil>", nil},
		{Path{Name("spec")}, "/spec", "spec", "spec", field.NewPath("spec")},
		{Path{Name("v"), Entry("a.b/c"), At(0), Name("r")}, "/v/a.b~1c/0/r", "v.a.b/c[0].r", "v[a.b/c][0].r", field.NewPath("v").Key("a.b/c").Index(0).Child("r")},
		{Path{Name("~/")}, "/~0~1", "~/", "~/", field.NewPath("~/")},
		{Path{Name("a"), Name("")}, "/a/", "a.", "a[]", field.NewPath("a").Child("")},
		{Path{Name(""), Name("a")}, "//a", ".a", "[].a", field.NewPath("").Child("a")},
		{Path{At(3), Name("a")}, "/3/a", "[3].a", "[3].a", (*field.Path)(nil).Index(3).Child("a")},
		{Path{Entry("k")}, "/k", "k", "[k]", (*field.Path)(nil).Key("k")},
	} {
		if got := c.path.Pointer(); got != c.pointer {
			t.Errorf("pointer %q, want %q", got, c.pointer)
		}
		if got := c.path.Dotted(); got != c.dotted {
			t.Errorf("dotted %q, want %q", got, c.dotted)
		}
		if got := c.path.Bracketed(); got != c.bracketed || got != c.field.String() {
			t.Errorf("bracketed %q, want %q, field.Path %q", got, c.bracketed, c.field.String())
		}
	}
}

func TestPathsDoNotShare(t *testing.T) {
	base := make(Path, 0, 8)
	a, b := base.With(Name("a")), base.With(Name("b"))
	if a.Dotted() != "a" || b.Dotted() != "b" {
		t.Errorf("%s, %s", a, b)
	}
	if got := a.Detach(); !slices.Equal(got, a) {
		t.Errorf("detached: %s", got)
	}
}
