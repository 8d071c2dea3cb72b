package registry

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
)

func TestCatalogs(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, &clock{now: time.Unix(1000, 0)})
	for _, tc := range []struct {
		name  string
		minor int
		want  Reason
	}{
		{"pr-17", 0, ""}, {"pr-17", 0, CatalogExists}, {"old", engine.OldestMinor, ""}, {DefaultCatalog, 0, CatalogExists},
		{"", 0, InvalidArgument}, {"Upper", 0, InvalidArgument}, {"a/b", 0, InvalidArgument}, {"a.b", 0, InvalidArgument},
		{strings.Repeat("x", 64), 0, InvalidArgument}, {"m1", engine.OldestMinor - 1, InvalidArgument}, {"m2", engine.LatestMinor + 1, InvalidArgument}, {"m3", -1, InvalidArgument},
	} {
		c, token, err := r.CreateCatalog(t.Context(), tc.name, tc.minor)
		wantReason(t, err, tc.want)
		if err == nil && (c.Name != tc.name || c.KubernetesMinor != tc.minor || c.Etag == "" || token == "" || !c.Created.Equal(time.Unix(1000, 0))) {
			t.Errorf("created %+v, token %q", c, token)
		}
	}
	mustRegister(t, r, "pr-17", testRevision("a", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}))
	got, err := r.Catalog(t.Context(), "pr-17", "")
	if err != nil || got.CRDs != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	before, _ := r.Catalog(t.Context(), "old", "")

	// All of it is there after a restart.
	again := newRegistry(t, store, nil)
	if page, err := again.Catalogs(t.Context(), Page{}, ""); err != nil || len(page.Catalogs) != 3 || page.Catalogs[0].Name != DefaultCatalog || page.Next != "" {
		t.Errorf("after a restart: %+v, %v", page, err)
	}

	for _, tc := range []struct {
		name  string
		force bool
		etag  string
		want  Reason
		crds  int
	}{
		{DefaultCatalog, true, "", CatalogProtected, 0}, {"never", true, "", CatalogNotFound, 0}, {"pr-17", false, "", CatalogNotEmpty, 0},
		{"pr-17", true, "other", EtagMismatch, 0}, {"pr-17", true, got.Etag, "", 1}, {"pr-17", true, "", CatalogNotFound, 0}, {"old", false, before.Etag, "", 0},
	} {
		token, crds, err := r.DeleteCatalog(t.Context(), tc.name, tc.force, tc.etag)
		wantReason(t, err, tc.want)
		if err == nil && (token == "" || crds != tc.crds) {
			t.Errorf("deleting %s: token %q, %d CRDs", tc.name, token, crds)
		}
	}
	if len(store.entries) != 0 {
		t.Errorf("left behind: %v", store.entries)
	}
	if _, err := r.Catalog(t.Context(), DefaultCatalog, ""); err != nil {
		t.Error(err)
	}
}
