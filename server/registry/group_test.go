package registry

import (
	"fmt"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestNames(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	r := newRegistry(t, newTestStore(), c)
	add := func(group string, n apiextensionsv1.CustomResourceDefinitionNames) *CRD {
		c.advance(time.Second)
		return mustRegister(t, r, "default", testRevision(fmt.Sprint(n), group, n))
	}
	add("g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos", Singular: "foo", ShortNames: []string{"f", "fo"}, Kind: "Foo", ListKind: "FooList"})
	for _, tc := range []struct {
		name, group     string
		names           apiextensionsv1.CustomResourceDefinitionNames
		reason, message string
	}{
		{"another group", "h.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos", Singular: "foo", ShortNames: []string{"f"}, Kind: "Foo", ListKind: "FooList"}, "NoConflicts", "no conflicts found"},
		{"free", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "free", Kind: "Free"}, "NoConflicts", "no conflicts found"},
		{"singular", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "a", Singular: "foo", Kind: "A"}, "SingularConflict", `"foo" is already in use`},
		{"plural is a short name", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "f", Kind: "B"}, "PluralConflict", `"f" is already in use`},
		{"short names", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "c", ShortNames: []string{"x", "fo", "f"}, Kind: "C"}, "ShortNamesConflict", `["fo" is already in use, "f" is already in use]`},
		{"kind", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "d", Kind: "Foo"}, "KindConflict", `"Foo" is already in use`},
		{"list kind is a kind", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "e", Kind: "E", ListKind: "Foo"}, "ListKindConflict", `"Foo" is already in use`},
		{"the last conflict is reported", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "ff", Singular: "foo", Kind: "FooList"}, "KindConflict", `"FooList" is already in use`},
	} {
		d := add(tc.group, tc.names)
		got := d.condition("NamesAccepted")
		if accepted := tc.reason == "NoConflicts"; got.Reason != tc.reason || got.Message != tc.message || d.Established != accepted || (d.condition("Established").Status == "True") != accepted {
			t.Errorf("%s: %+v", tc.name, d.Status.Conditions)
		}
	}

	v, err := r.View(t.Context(), "default", "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.Named(t.Context(), "d.g.io", "")
	wantReason(t, err, CRDNotEstablished)
	_, err = v.OfKind(t.Context(), "g.io", "C", "") // only its short names are taken, yet it is not established
	wantReason(t, err, CRDNotEstablished)
	_, err = v.OfKind(t.Context(), "g.io", "Nothing", "")
	wantReason(t, err, CRDNotFound)
	_, err = v.Named(t.Context(), "nothing.g.io", "")
	wantReason(t, err, CRDNotFound)
	leads := func(want string) {
		t.Helper()
		c, _ := r.snapshot.Load().catalogs.Get("default")
		g := c.group("g.io")
		if d := c.established(&g, "Foo"); d == nil || d.name != want {
			t.Errorf("kind Foo leads to %v, want %s", d, want)
		}
	}
	leads("foos.g.io")
	if _, err := r.Delete(t.Context(), "default", "foos.g.io", Precondition{}); err != nil {
		t.Fatal(err)
	}
	leads("d.g.io") // its names are free now
	back := add("g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos", Kind: "Foo"})
	leads("d.g.io")
	if back.Established {
		t.Error("the newcomer took the kind")
	}
}

// A CRD that changes its names to those of another must not take them from it; it stays established under those it has.
func TestRenamingTakesNoName(t *testing.T) {
	r := newRegistry(t, newTestStore(), &clock{now: time.Unix(1000, 0)})
	mustRegister(t, r, "default", testRevision("1", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "olds", Kind: "Old", ShortNames: []string{"o"}}))
	mustRegister(t, r, "default", testRevision("2", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "youngs", Kind: "Young", ShortNames: []string{"y"}}))
	d := mustRegister(t, r, "default", testRevision("3", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "youngs", Kind: "Young", ShortNames: []string{"o"}}))
	if !d.Established || fmt.Sprint(d.Desired.Names.ShortNames, d.Status.AcceptedNames.ShortNames) != "[o] [y]" || d.condition("NamesAccepted").Reason != "ShortNamesConflict" {
		t.Errorf("%+v", d)
	}
	if d, _ := r.CRD(t.Context(), "default", "olds.g.io", "", ""); d.condition("NamesAccepted").Status != "True" {
		t.Errorf("%+v", d)
	}
	// When the other one gives it up, it is taken in the same commit.
	sequence := r.snapshot.Load().sequence
	mustRegister(t, r, "default", testRevision("4", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "olds", Kind: "Old", ShortNames: []string{"ol"}}))
	after, _ := r.CRD(t.Context(), "default", "youngs.g.io", "", "")
	if fmt.Sprint(after.Status.AcceptedNames.ShortNames) != "[o]" || after.condition("NamesAccepted").Status != "True" || after.Etag == d.Etag || after.Generation != d.Generation {
		t.Errorf("%+v", after)
	}
	if r.snapshot.Load().sequence != sequence+1 {
		t.Error("it took more than a commit")
	}
}
