package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

func TestSetStoredVersionsErrors(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	mustAccept(t, r, widget("Widget", "", "v1", "v2"), Created)
	_, err := r.SetStoredVersions(t.Context(), "default", "widgets.example.com", []string{"v2"}, "other")
	wantReason(t, err, EtagMismatch)
	if err == nil || !strings.Contains(err.Error(), "has etag") {
		t.Error(err)
	}
	_, err = r.SetStoredVersions(t.Context(), "default", "never.example.com", []string{"v1"}, "")
	wantReason(t, err, CRDNotFound)
	_, err = r.SetStoredVersions(t.Context(), "never", "widgets.example.com", []string{"v1"}, "")
	wantReason(t, err, CatalogNotFound)
}

// TestSetStoredVersionsAccepts: as in an API server, any list is accepted, but a version that the CRD does not have makes
// its updates fail.
func TestSetStoredVersionsAccepts(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	mustAccept(t, r, widget("Widget", "", "v1", "v2"), Created)
	for _, tc := range []struct {
		versions []string
		want     string
		update   Outcome
	}{
		{[]string{"v1"}, "[v1]", Updated}, // the update adds the storage version
		{nil, "[v2]", Updated},
		{[]string{"v3", "v3"}, "[v3 v3]", Rejected},
	} {
		done, err := r.SetStoredVersions(t.Context(), "default", "widgets.example.com", tc.versions, "")
		if err != nil || fmt.Sprint(done.CRD.Status.StoredVersions) != tc.want {
			t.Errorf("%v: %+v, %v", tc.versions, done.CRD, err)
		}
		if update := mustAccept(t, r, widget("Widget", tc.want, "v1", "v2"), tc.update); update.CRD != nil &&
			!slices.Contains(update.CRD.Status.StoredVersions, "v2") {
			t.Errorf("%v: after the update %v", tc.versions, update.CRD.Status.StoredVersions)
		}
	}
}

func TestStoredVersionsAccumulate(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	for i, storage := range []string{"v1alpha1", "v1", "v1alpha1"} {
		rev := testRevision(fmt.Sprint(i), "g.io", engine.Names{Plural: "foos"})
		rev.summary.Desired.StorageVersion = storage
		mustRegister(t, r, "default", rev)
	}
	if d, _ := r.CRD(t.Context(), "default", "foos.g.io", "", ""); fmt.Sprint(d.Status.StoredVersions) != "[v1alpha1 v1]" || d.Desired.StorageVersion != "v1alpha1" {
		t.Errorf("%v, %s", d.Status.StoredVersions, d.Desired.StorageVersion)
	}
}
