package engine_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/engine"
)

const selectableCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com",
	"scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","listKind":"CronTabList","shortNames":["ct"],"categories":["all"]},"versions":[
	{"name":"v1","served":true,"storage":true,"selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.runs"}],
	 "subresources":{"status":{},"scale":{"specReplicasPath":".spec.runs","statusReplicasPath":".status.runs"}},
	 "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"runs":{"type":"integer"}}},
	  "status":{"type":"object","properties":{"runs":{"type":"integer"}}}}}}},
	{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},
	{"name":"v1alpha1","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

func TestFieldManagement(t *testing.T) {
	d := compiled(t, selectableCRD)
	m, err := d.FieldManagement("v1")
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
		received, err := engine.NewResetFields(r.Subresource, r.APIVersion, r.Fields)
		sent := engine.FieldManagement{ResetFields: []engine.ResetFields{received}}
		own := m.Sets(r.Subresource)[fieldpath.APIVersion(r.APIVersion)]
		if set := sent.Sets(r.Subresource)[fieldpath.APIVersion(r.APIVersion)]; err != nil || set.Empty() || !set.Equals(own) {
			t.Errorf("%v, %v, want %v", set, err, own)
		}
	}
	if _, err := engine.NewResetFields("", "stable.example.com/v1", []byte("[]")); err == nil {
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
	if again, err := d.FieldManagement("v1"); err != nil || fmt.Sprint(again.ReplicasPaths) != paths {
		t.Errorf("%+v, %v", again.ReplicasPaths, err)
	}
	if m, err := d.FieldManagement("v1beta1"); err != nil || len(m.ResetFields) != 0 || len(m.Sets("")) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := d.FieldManagement("v1alpha1"); engine.ReasonOf(err) != engine.ReasonVersionNotServed {
		t.Error(err)
	}
}
