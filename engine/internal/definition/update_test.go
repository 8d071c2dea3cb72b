package definition

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// update is one case of testdata/update.yaml.
type update struct {
	Name           string                                         `json:"name"`
	Old            registration                                   `json:"old"`
	New            registration                                   `json:"new"`
	Established    bool                                           `json:"established"`
	StoredVersions []string                                       `json:"storedVersions"` // overrides those of a new CRD
	AcceptedNames  *apiextensionsv1.CustomResourceDefinitionNames `json:"acceptedNames"`  // overrides the requested names
}

// updated is upstream's result for an update.
type updated struct {
	answer     `json:",inline"`
	Generation int64 `json:"generation"` // the stored CRD has 3
}

func (u *update) stored(t *testing.T) *Stored {
	t.Helper()
	m, err := Decode(u.Old.doc(t))
	if err != nil {
		t.Fatal(err)
	}
	return u.keep(m)
}

// keep returns the CRD as stored.
func (u *update) keep(m *Manifest) *Stored {
	s := m.asStored()
	s.Generation = 3
	if u.Established {
		s.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	}
	if u.StoredVersions != nil {
		s.Status.StoredVersions = u.StoredVersions
	}
	if u.AcceptedNames != nil {
		s.Status.AcceptedNames = *u.AcceptedNames
	}
	return s
}

func TestUpdates(t *testing.T) {
	cases := load[update](t, "testdata/update.yaml")
	answers := load[updated](t, "testdata/update.golden.yaml")
	if len(cases) != len(answers) || len(cases) == 0 {
		t.Fatalf("%d cases, %d answers", len(cases), len(answers))
	}
	for i := range cases {
		want := answers[i]
		t.Run(cases[i].Name, func(t *testing.T) {
			if want.Name != cases[i].Name {
				t.Fatalf("the answer is that of %q", want.Name)
			}
			m, err := Decode(cases[i].New.doc(t))
			if err != nil {
				t.Fatal(err)
			}
			old := cases[i].stored(t)
			held := slices.Clone(old.Status.StoredVersions)
			r := Validate(t.Context(), m, Options{Stored: old})
			var errs []string
			for _, e := range r.Errors {
				errs = append(errs, e.Error())
			}
			same(t, "errors", errs, want.Errors)
			same(t, "warnings", textsOf(r.Warnings), want.Warnings)
			if len(errs) == 0 && m.CRD.Generation != want.Generation {
				t.Errorf("generation %d, want %d", m.CRD.Generation, want.Generation)
			}
			if !slices.Equal(old.Status.StoredVersions, held) {
				t.Errorf("the stored versions became %q", old.Status.StoredVersions)
			}
		})
	}
}

// FuzzUpdate checks that updates never panic, and that an accepted CRD is accepted again as an update without changes.
func FuzzUpdate(f *testing.F) {
	cases := load[update](f, "testdata/update.yaml")
	for i := range cases {
		f.Add(cases[i].Old.doc(f), cases[i].New.doc(f), cases[i].Established)
	}
	f.Fuzz(func(t *testing.T, before, after []byte, established bool) {
		u := update{Established: established}
		stored := func(doc []byte) *Stored {
			m, err := Decode(doc)
			if err != nil {
				return nil
			}
			return u.keep(m)
		}
		old := stored(before)
		m, err := Decode(after)
		if old == nil || err != nil {
			return
		}
		r := Validate(t.Context(), m, Options{Stored: old})
		if r.Err != nil || len(r.Errors) > 0 {
			return
		}
		canonical, err := schema.Canonical(m.CRD)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(canonical)
		if err != nil {
			t.Fatal(err)
		}
		r = Validate(t.Context(), again, Options{Stored: stored(canonical)})
		if r.Err != nil || len(r.Errors) > 0 || len(r.Warnings) > 0 || again.CRD.Generation != 3 {
			t.Errorf("%s\nis updated by itself: %v, %v, %q, generation %d", canonical, r.Err, r.Errors, r.Warnings, again.CRD.Generation)
		}
	})
}
