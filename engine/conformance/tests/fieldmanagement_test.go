package tests

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/testenv"
)

// managed is the number of CRDs.
var managed = testenv.Volume(50)

// TestFieldManagementIsUpstreams compares reset fields and replicas paths with those that upstream's handler passes to
// its field managers.
func TestFieldManagementIsUpstreams(t *testing.T) {
	scaled, reset := 0, 0
	for n := range uint64(managed) {
		crd := discoveredCRD(generate.New("fieldmanagement", 1, n), "stable.example.com", "crontabs")
		d := compileCRD(t, crd)
		crd.Status.AcceptedNames = crd.Spec.Names
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		crd.Status.StoredVersions = []string{d.StorageVersion()}
		storages, err := serving(crd)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			m, err := kubeserver.FieldManagementOf(d, v.Name)
			var e *engine.Error
			if !v.Served {
				if !errors.As(err, &e) || e.Reason != engine.ReasonVersionNotServed {
					t.Errorf("%d, %s is not served: %v", n, v.Name, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			s, there := storages[v.Name]
			if !there {
				t.Fatalf("%d: upstream does not serve %s", n, v.Name)
			}
			if our, their := texts(m.Sets("")), texts(s.CustomResource.GetResetFields()); our != their {
				t.Errorf("%d, %s: reset fields %s, upstream %s", n, v.Name, our, their)
			}
			their := ""
			if s.Status != nil {
				their = texts(statusResetFields(crd, storages))
				reset++
			}
			if our := texts(m.Sets("status")); our != their {
				t.Errorf("%d, %s: reset fields of the status %s, upstream %s", n, v.Name, our, their)
			}
			if s.Scale != nil {
				scaled++
				if our, their := fmt.Sprint(m.Mappings()), fmt.Sprint(map[string]fieldpath.Path(mappings(s.Scale))); our != their {
					t.Errorf("%d, %s: replicas %s, upstream %s", n, v.Name, our, their)
				}
			}
		}
	}
	if scaled < managed/4 || reset < managed/4 {
		t.Errorf("definitions of little use: %d with a scale, %d with a status", scaled, reset)
	}
}

// texts prints reset fields.
func texts(sets map[fieldpath.APIVersion]*fieldpath.Set) (text string) {
	var versions []fieldpath.APIVersion
	for v := range sets {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	for _, v := range versions {
		text += fmt.Sprintf("%s: %s; ", v, sets[v])
	}
	return text
}
