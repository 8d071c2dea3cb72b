package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// formerEntries are those of a CRD as crdeval wrote them before there was a status.
func formerEntries(t *testing.T, names string, group string, since int64, manifest string) []Entry {
	t.Helper()
	var n engine.Names
	if err := json.Unmarshal([]byte(names), &n); err != nil {
		t.Fatal(err)
	}
	name := n.Plural + "." + group
	at := time.Unix(since, 0).UTC().Format(time.RFC3339)
	crd := fmt.Sprintf(`{"etag":"e%d","generation":3,"created":%q,"updated":%q,"namesSince":%q,"storedVersions":["v1beta1","v1"],"revisions":[{"digest":"sha256:1","since":%q}]}`,
		since, at, at, at, at)
	summary := fmt.Sprintf(`{"group":%q,"names":%s,"scope":"Cluster","versions":[{"Name":"v1","Served":true,"Storage":true}],"storageVersion":"v1"}`, group, names)
	entry := func(key, record string, rest packed) Entry {
		value, err := encodeRecord(json.RawMessage(record), rest)
		if err != nil {
			t.Fatal(err)
		}
		return Entry{Key: key, Value: value, Version: 1}
	}
	return []Entry{entry(crdKey("default", name), crd, nil), entry(revisionKey("default", name, "sha256:1"), summary, pack([]byte(manifest)))}
}

// A store of the former format is read, with the status that came of who claimed a name first; it is written as CRDs change.
func TestFormerFormat(t *testing.T) {
	store := newMapStore()
	store.sequence = 1
	add := func(entries []Entry) {
		for _, e := range entries {
			store.entries[e.Key] = e
		}
	}
	add(formerEntries(t, `{"plural":"olds","singular":"old","kind":"Old","listKind":"OldList","shortNames":["x"]}`, "g.io", 100, `{}`))
	add(formerEntries(t, `{"plural":"youngs","singular":"young","kind":"Young","listKind":"YoungList","shortNames":["x"]}`, "g.io", 200, `{}`))
	add(formerEntries(t, `{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"}`, "x.k8s.io", 300,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.x.k8s.io","annotations":{"api-approved.kubernetes.io":"unapproved, testing"}},
		"spec":{"group":"x.k8s.io","scope":"Cluster","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},"conversion":{"strategy":"None"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`))
	r := newRegistry(t, store, nil)
	get := func(name string) *CRD {
		t.Helper()
		d, err := r.CRD(t.Context(), "default", name, "", "")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := get("olds.g.io")
	if !d.Established || d.Generation != 3 || d.Etag != "e100" || fmt.Sprint(d.StoredVersions) != "[v1beta1 v1]" || d.Scope != "Cluster" || d.AcceptedNames.Kind != "Old" ||
		!d.condition("Established").LastTransitionTime.Equal(time.Unix(100, 0)) {
		t.Errorf("%+v", d)
	}
	if d = get("youngs.g.io"); d.Established || d.condition("NamesAccepted").Reason != "ShortNamesConflict" {
		t.Errorf("%+v", d)
	}
	if d = get("things.x.k8s.io"); d.condition("KubernetesAPIApprovalPolicyConformant").Reason != "UnapprovedAnnotation" || !d.Established {
		t.Errorf("%+v", d.Conditions)
	}
	if store.sequence != 1 {
		t.Error("reading writes")
	}
	if _, err := r.Delete(t.Context(), "default", "olds.g.io", "e100"); err != nil {
		t.Fatal(err)
	}
	if d = get("youngs.g.io"); !d.Established || fmt.Sprint(d.AcceptedNames.ShortNames) != "[x]" {
		t.Errorf("%+v", d)
	}
	value := string(store.entries[crdKey("default", "youngs.g.io")].Value)
	if strings.Contains(value, "namesSince") || !strings.Contains(value, `"status"`) {
		t.Errorf("written as %s", value)
	}
	r = newRegistry(t, store, nil)
	if d = get("youngs.g.io"); !d.Established {
		t.Errorf("after a restart: %+v", d)
	}
}
