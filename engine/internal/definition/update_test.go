package definition

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// update is one case of testdata/update.yaml.
type update struct {
	Name           string                                         `json:"name"`
	Old            registration                                   `json:"old"`
	New            registration                                   `json:"new"`
	Established    bool                                           `json:"established"`
	StoredVersions []string                                       `json:"storedVersions"` // instead of those of a CRD that was just created
	AcceptedNames  *apiextensionsv1.CustomResourceDefinitionNames `json:"acceptedNames"`  // instead of those that it asks for
}

// updated is what the reference says to an update.
type updated struct {
	answer     `json:",inline"`
	Generation int64 `json:"generation"` // the stored CRD's is 3
}

func (u *update) stored(t *testing.T) *Stored {
	t.Helper()
	m, err := Decode(u.Old.doc(t))
	if err != nil {
		t.Fatal(err)
	}
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
			same(t, "warnings", r.Warnings, want.Warnings)
			if len(errs) == 0 && m.CRD.Generation != want.Generation {
				t.Errorf("generation %d, want %d", m.CRD.Generation, want.Generation)
			}
			if !slices.Equal(old.Status.StoredVersions, held) {
				t.Errorf("the stored versions became %q", old.Status.StoredVersions)
			}
		})
	}
}
