package registry

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestCatalogs(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, &clock{now: time.Unix(1000, 0)})
	for _, tc := range []struct {
		name, kubernetes string
		want             Reason
	}{
		{"pr-17", "", ""}, {"pr-17", "", CatalogExists}, {"old", "1.25", ""}, {DefaultCatalog, "", CatalogExists},
		{"", "", InvalidArgument}, {"Upper", "", InvalidArgument}, {"a/b", "", InvalidArgument}, {"a.b", "", InvalidArgument},
		{strings.Repeat("x", 64), "", InvalidArgument}, {"m1", "1.24", InvalidArgument},
		{"m2", "1.38", InvalidArgument}, {"m3", "1.034", InvalidArgument}, {"m4", "34", InvalidArgument},
	} {
		c, token, err := r.CreateCatalog(t.Context(), tc.name, tc.kubernetes)
		wantReason(t, err, tc.want)
		if err == nil && (c.Name != tc.name || c.Kubernetes != tc.kubernetes || c.Etag == "" || token == "" || !c.Created.Equal(time.Unix(1000, 0))) {
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
