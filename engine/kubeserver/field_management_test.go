package kubeserver_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

func TestFieldManagement(t *testing.T) {
	d := fixture.Compile(t, selectableCRD)
	m, err := kubeserver.FieldManagementOf(d, "v1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range m.ResetFields {
		got = append(got, fmt.Sprintf("%q %s %s", r.Subresource, r.APIVersion, r.Fields))
	}
	if want := `["" stable.example.com/v1 {"f:status":{}} "status" stable.example.com/v1 {"f:metadata":{},"f:spec":{}}]`; fmt.Sprint(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, r := range m.ResetFields {
		received, err := kubeserver.NewResetFields(r.Subresource, r.APIVersion, r.Fields)
		sent := kubeserver.FieldManagement{ResetFields: []kubeserver.ResetFields{received}}
		own := m.Sets(r.Subresource)[fieldpath.APIVersion(r.APIVersion)]
		if set := sent.Sets(r.Subresource)[fieldpath.APIVersion(r.APIVersion)]; err != nil || set.Empty() || !set.Equals(own) {
			t.Errorf("%v, %v, want %v", set, err, own)
		}
	}
	if _, err := kubeserver.NewResetFields("", "stable.example.com/v1", []byte("[]")); err == nil {
		t.Error("no error for a list")
	}
	const paths = "[{stable.example.com/v1 [spec runs]} {stable.example.com/v1beta1 []} {stable.example.com/v1alpha1 []}]"
	if got := fmt.Sprint(m.ReplicasPaths); got != paths {
		t.Errorf("%s, want %s", got, paths)
	}
	if m := m.Mappings(); fmt.Sprint(m) != "map[stable.example.com/v1:.spec.runs stable.example.com/v1alpha1: stable.example.com/v1beta1:]" || m["stable.example.com/v1beta1"] != nil {
		t.Error(m)
	}
	m.ReplicasPaths[0].Fields[0] = "changed" // is the caller's
	if again, err := kubeserver.FieldManagementOf(d, "v1"); err != nil || fmt.Sprint(again.ReplicasPaths) != paths {
		t.Errorf("%+v, %v", again.ReplicasPaths, err)
	}
	if m, err := kubeserver.FieldManagementOf(d, "v1beta1"); err != nil || len(m.ResetFields) != 0 || len(m.Sets("")) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := kubeserver.FieldManagementOf(d, "v1alpha1"); engine.ReasonOf(err) != engine.ReasonVersionNotServed {
		t.Error(err)
	}
}
