package api_test

import (
	"context"
	"testing"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// TestPageSize checks that a page size above the maximum is coerced.
func TestPageSize(t *testing.T) {
	w := startWith(t, nil, func(o *api.Options) { o.Limits.DefaultPageSize, o.Limits.MaxPageSize = 1, 2 })
	for _, name := range []string{"a", "b", "c"} {
		if _, err := w.registry.CreateCatalog(context.Background(), &crdevalv1.CreateCatalogRequest{Catalog: name}); err != nil {
			t.Fatal(err)
		}
	}
	for asked, want := range map[int32]int{0: 1, 1: 1, 2: 2, 3: 2, 1 << 30: 2} {
		page, err := w.registry.ListCatalogs(context.Background(), &crdevalv1.ListCatalogsRequest{PageSize: asked})
		if err != nil || len(page.GetCatalogs()) != want || page.GetNextPageToken() == "" {
			t.Errorf("page_size %d: %v, %v", asked, page, err)
		}
	}
}
