package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/definition"
)

var birth = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// claimant is a CRD that asks for names: plural, singular, kind, listKind, then short names.
func claimant(age int, wanted ...string) definition.CRDStatus {
	n := apiextensionsv1.CustomResourceDefinitionNames{Plural: wanted[0], Singular: wanted[1], Kind: wanted[2], ListKind: wanted[3]}
	if len(wanted) > 4 {
		n.ShortNames = wanted[4:]
	}
	return definition.CRDStatus{
		Name: wanted[0] + ".example.com", Created: birth.Add(-time.Duration(age) * time.Hour),
		Desired: definition.DesiredStatus{Group: "example.com", Names: n, StorageVersion: "v1"},
	}
}

// statusText returns a status as a text: accepted names, then conditions without times.
func statusText(s *apiextensionsv1.CustomResourceDefinitionStatus) string {
	n := s.AcceptedNames
	text := strings.Join(append([]string{n.Plural, n.Singular, n.Kind, n.ListKind}, n.ShortNames...), " ")
	for _, c := range s.Conditions {
		text += fmt.Sprintf("; %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

const (
	named       = "; NamesAccepted=True NoConflicts: no conflicts found"
	established = "; Established=True InitialNamesAccepted: the initial names have been accepted"
	waiting     = "; Established=False NotAccepted: not all names are accepted"
)

func TestReconcileStatus(t *testing.T) {
	as := func(age int) definition.CRDStatus { return claimant(age, "as", "a", "A", "AList", "x") }
	reconciled := func(c definition.CRDStatus) definition.CRDStatus {
		definition.ReconcileStatus([]definition.CRDStatus{c}, "", birth)
		group := []definition.CRDStatus{c}
		definition.ReconcileStatus(group, c.Name, birth)
		return group[0]
	}
	asking := func(c definition.CRDStatus, n apiextensionsv1.CustomResourceDefinitionNames) definition.CRDStatus {
		c.Desired.Names = n
		return c
	}
	for _, tt := range []struct {
		name    string
		group   []definition.CRDStatus
		first   string
		want    []string
		changed []string
	}{
		{name: "an empty group"},
		{name: "one", group: []definition.CRDStatus{as(1)}, first: "as.example.com", want: []string{"as a A AList x" + named + established}, changed: []string{"as.example.com"}},
		{name: "reconciled already", group: []definition.CRDStatus{reconciled(as(1))}, first: "as.example.com", want: []string{"as a A AList x" + named + established}},
		{name: "the one that was first keeps its names",
			group: []definition.CRDStatus{reconciled(as(1)), claimant(2, "bs", "a", "B", "BList")}, first: "bs.example.com",
			want: []string{
				"as a A AList x" + named + established,
				"bs  B BList; NamesAccepted=False SingularConflict: \"a\" is already in use" + waiting,
			}, changed: []string{"bs.example.com"}},
		{name: "the last of several conflicts is reported",
			group: []definition.CRDStatus{reconciled(as(1)), claimant(2, "x", "a", "A", "AList")}, first: "x.example.com",
			want: []string{
				"as a A AList x" + named + established,
				"   ; NamesAccepted=False ListKindConflict: \"AList\" is already in use" + waiting,
			}, changed: []string{"x.example.com"}},
		{name: "short names are accepted together or not at all",
			group: []definition.CRDStatus{reconciled(as(1)), claimant(2, "bs", "b", "B", "BList", "x", "a", "free", "x")}, first: "bs.example.com",
			want: []string{
				"as a A AList x" + named + established,
				"bs b B BList; NamesAccepted=False ShortNamesConflict: [\"x\" is already in use, \"a\" is already in use]" + waiting,
			}, changed: []string{"bs.example.com"}},
		{name: "after a deletion the oldest gets what is free",
			group: []definition.CRDStatus{claimant(1, "bs", "a", "B", "BList"), claimant(3, "cs", "a", "C", "CList"), claimant(2, "ds", "a", "D", "DList")},
			want: []string{
				"bs  B BList; NamesAccepted=False SingularConflict: \"a\" is already in use" + waiting,
				"cs a C CList" + named + established,
				"ds  D DList; NamesAccepted=False SingularConflict: \"a\" is already in use" + waiting,
			}, changed: []string{"bs.example.com", "cs.example.com", "ds.example.com"}},
		{name: "an established CRD that asks for a taken name stays established under those it has",
			group: []definition.CRDStatus{reconciled(as(1)), asking(reconciled(claimant(2, "bs", "b", "B", "BList")), apiextensionsv1.CustomResourceDefinitionNames{Plural: "bs", Singular: "b", Kind: "A", ListKind: "Bs"})}, first: "bs.example.com",
			want: []string{
				"as a A AList x" + named + established,
				"bs b B Bs; NamesAccepted=False KindConflict: \"A\" is already in use" + established,
			}, changed: []string{"bs.example.com"}},
		{name: "a CRD that releases a name hands it on",
			group: []definition.CRDStatus{
				asking(reconciled(as(1)), apiextensionsv1.CustomResourceDefinitionNames{Plural: "as", Singular: "a", Kind: "A", ListKind: "AList"}),
				claimant(2, "bs", "b", "B", "BList", "x"),
			}, first: "as.example.com",
			want: []string{
				"as a A AList" + named + established,
				"bs b B BList x" + named + established,
			}, changed: []string{"as.example.com", "bs.example.com"}},
		{name: "a CRD is in its own way",
			group: []definition.CRDStatus{asking(reconciled(as(1)), apiextensionsv1.CustomResourceDefinitionNames{Plural: "as", Singular: "x", Kind: "A", ListKind: "AList", ShortNames: []string{"x"}})}, first: "as.example.com",
			want: []string{
				"as a A AList x; NamesAccepted=False SingularConflict: \"x\" is already in use" + established,
			}, changed: []string{"as.example.com"}},
		{name: "a CRD gets out of its own way", // in the second round, when the short name is no longer its own
			group: []definition.CRDStatus{asking(reconciled(as(1)), apiextensionsv1.CustomResourceDefinitionNames{Plural: "as", Singular: "x", Kind: "A", ListKind: "AList"})}, first: "as.example.com",
			want: []string{"as x A AList" + named + established}, changed: []string{"as.example.com"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := definition.ReconcileStatus(tt.group, tt.first, birth)
			for i := range tt.group {
				if got := statusText(&tt.group[i].Status); got != tt.want[i] {
					t.Errorf("%s\n got %s\nwant %s", tt.group[i].Name, got, tt.want[i])
				}
			}
			if !slices.Equal(changed, tt.changed) {
				t.Errorf("changed %q, want %q", changed, tt.changed)
			}
			if again := definition.ReconcileStatus(tt.group, "", birth.Add(time.Hour)); again != nil {
				t.Errorf("not reconciled: %q change again", again)
			}
		})
	}
}

// TestReconcileKeepsConflicts: a CRD that returns to the names that it has keeps the conflict that it had.
func TestReconcileKeepsConflicts(t *testing.T) {
	group := []definition.CRDStatus{claimant(2, "as", "a", "A", "AList"), claimant(1, "bs", "b", "B", "BList")}
	definition.ReconcileStatus(group, "", birth)
	group[1].Desired.Names.Kind = "A"
	definition.ReconcileStatus(group, "bs.example.com", birth)
	group[1].Desired.Names.Kind = "B"
	if changed := definition.ReconcileStatus(group, "bs.example.com", birth); changed != nil {
		t.Errorf("%q changed", changed)
	}
	if got, want := statusText(&group[1].Status), "bs b B BList; NamesAccepted=False KindConflict: \"A\" is already in use"+established; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestReconcileTimes: a condition has the time of the last change of its status, in seconds, and statuses that were given
// are not written to.
func TestReconcileTimes(t *testing.T) {
	group := []definition.CRDStatus{claimant(1, "as", "a", "A", "AList")}
	group[0].Desired.InvalidCABundle = true
	definition.ReconcileStatus(group, "as.example.com", birth.Add(1500*time.Millisecond))
	before := *group[0].Status.DeepCopy()
	if got, want := statusText(&before), "as a A AList"+named+"; Established=False InvalidCABundle: The conversion webhook CABundle is invalid"; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	shared := group[0].Status
	group[0].Desired.InvalidCABundle = false
	definition.ReconcileStatus(group, "as.example.com", birth.Add(time.Hour))
	if !reflect.DeepEqual(shared, before) {
		t.Errorf("the status that was given became %s", statusText(&shared))
	}
	after := group[0].Status.Conditions
	if first := metav1.NewTime(birth.Add(time.Second)); !after[0].LastTransitionTime.Equal(&first) || after[0].LastTransitionTime.Nanosecond() != 0 {
		t.Errorf("NamesAccepted since %v", after[0].LastTransitionTime)
	}
	if then := metav1.NewTime(birth.Add(time.Hour)); !after[1].LastTransitionTime.Equal(&then) {
		t.Errorf("Established since %v", after[1].LastTransitionTime)
	}
	for _, c := range after {
		if c.ObservedGeneration != 0 {
			t.Errorf("%s was observed at generation %d, as no controller does", c.Type, c.ObservedGeneration)
		}
	}
}

const conditionsManifest = `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.k8s.io","annotations":{"api-approved.kubernetes.io":"unapproved, a test"}},
"spec":{"group":"example.k8s.io","names":{"plural":"as","kind":"A","shortNames":[],"categories":["all"]},"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":false},{"name":"v2","served":true,"storage":true}],
"validation":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"properties":{"n":{"type":"integer"}}}}}}}}`

func TestStatusOfStoredCRD(t *testing.T) {
	d, report, err := Compile(context.Background(), JSON([]byte(conditionsManifest)), Options{})
	if err != nil || d == nil {
		t.Fatalf("%+v, %v", report, err)
	}
	s := d.compiled.Desired
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"group":"example.k8s.io","names":{"plural":"as","singular":"a","kind":"A","listKind":"AList","categories":["all"]},"storageVersion":"v2",` +
		`"nonStructural":{"type":"NonStructuralSchema","status":"True","lastTransitionTime":null,"reason":"Violations","message":"[spec.preserveUnknownFields: Invalid value: true: must be false, ` +
		`spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields, ` +
		`spec.versions[1].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields]"},` +
		`"approval":{"type":"KubernetesAPIApprovalPolicyConformant","status":"False","lastTransitionTime":null,"reason":"UnapprovedAnnotation","message":"not approved: \"unapproved, a test\""}}`
	if string(text) != want {
		t.Errorf("\n got %s\nwant %s", text, want)
	}
	var read definition.DesiredStatus
	if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, s) {
		t.Errorf("read back as %+v, %v", read, err)
	}
	status := s.AddStoredVersion(apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}})
	if !slices.Equal(status.StoredVersions, []string{"v1", "v2"}) || !slices.Equal(s.AddStoredVersion(status).StoredVersions, status.StoredVersions) {
		t.Errorf("stored versions %q", status.StoredVersions)
	}
	group := []definition.CRDStatus{{Name: "as.example.k8s.io", Desired: s}}
	definition.ReconcileStatus(group, "as.example.k8s.io", birth)
	if n := len(group[0].Status.Conditions); n != 4 {
		t.Errorf("%d conditions", n)
	}
	group[0].Desired.NonStructural = nil
	definition.ReconcileStatus(group, "as.example.k8s.io", birth)
	if n := len(group[0].Status.Conditions); n != 3 {
		t.Errorf("%d conditions", n)
	}
}
