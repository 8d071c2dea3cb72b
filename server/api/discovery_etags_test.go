package api_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crdeval/crdeval/engine/publish"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/registry"
)

// watchful is a registry that counts the documents that are made of its catalogs: each asks what the CRDs are.
type watchful struct {
	api.Registry
	made *atomic.Int64
}

func (r watchful) View(ctx context.Context, catalog, atLeast string) (registry.View, error) {
	v, err := r.Registry.View(ctx, catalog, atLeast)
	if err != nil {
		return nil, err
	}
	return watchfulView{v, r.made}, nil
}

type watchfulView struct {
	registry.View
	made *atomic.Int64
}

func (v watchfulView) AllCRDs(established bool) []publish.CRD {
	v.made.Add(1)
	return v.View.AllCRDs(established)
}

// documentsOfCatalogs ask for all kinds of documents about a catalog; each answers the etag, and whether there was a document.
var documentsOfCatalogs = map[string]func(w *wire, catalog, ifNoneMatch string) (etag string, sent bool, err error){
	"groups": discovering(&crdevalv1.DiscoverRequest{}), "group": discovering(&crdevalv1.DiscoverRequest{Group: "example.com"}),
	"resources":  discovering(&crdevalv1.DiscoverRequest{Group: "example.com", Version: "v1"}),
	"aggregated": discovering(&crdevalv1.DiscoverRequest{Aggregated: true}),
	"v2":         publishing(&crdevalv1.GetOpenApiRequest{Spec: "v2"}), "index": publishing(&crdevalv1.GetOpenApiRequest{Spec: "v3"}),
	"v3": publishing(&crdevalv1.GetOpenApiRequest{Spec: "v3", Group: "example.com", Version: "v1"}),
}

func discovering(r *crdevalv1.DiscoverRequest) func(w *wire, catalog, ifNoneMatch string) (string, bool, error) {
	return func(w *wire, catalog, ifNoneMatch string) (string, bool, error) {
		a, err := w.shows.Discover(context.Background(), &crdevalv1.DiscoverRequest{Catalog: catalog, Group: r.GetGroup(), Version: r.GetVersion(), Aggregated: r.GetAggregated(), IfNoneMatch: ifNoneMatch})
		return a.GetEtag(), a.GetDocument() != nil, err
	}
}

func publishing(r *crdevalv1.GetOpenApiRequest) func(w *wire, catalog, ifNoneMatch string) (string, bool, error) {
	return func(w *wire, catalog, ifNoneMatch string) (string, bool, error) {
		a, err := w.shows.GetOpenApi(context.Background(), &crdevalv1.GetOpenApiRequest{Catalog: catalog, Spec: r.GetSpec(), Group: r.GetGroup(), Version: r.GetVersion(), IfNoneMatch: ifNoneMatch})
		return a.GetEtag(), a.GetDocument() != nil, err
	}
}

// TestETagsAreKept: nothing is made for a client that has what there is; and every write to the catalog is seen at once.
func TestETagsAreKept(t *testing.T) {
	ctx := context.Background()
	made := &atomic.Int64{}
	w := start(t, func(r api.Registry) api.Registry { return watchful{r, made} }).withLamp()
	if _, err := w.registry.CreateCatalog(ctx, &crdevalv1.CreateCatalogRequest{Catalog: "other"}); err != nil {
		t.Fatal(err)
	}
	register := func(catalog, manifest string) {
		t.Helper()
		if a, err := w.registry.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: catalog, Manifest: yamlDocument(manifest)}); err != nil || !a.GetAccepted() {
			t.Fatal(a, err)
		}
	}
	remove := func() {
		t.Helper()
		if _, err := w.registry.DeleteCrd(ctx, &crdevalv1.DeleteCrdRequest{Catalog: "default", Crd: lamps}); err != nil {
			t.Fatal(err)
		}
	}
	// Discovery has the short names, OpenAPI the texts.
	other := strings.NewReplacer("A lamp.", "A light.", "[lp]", "[lmp]").Replace(lampManifest)
	for name, ask := range documentsOfCatalogs {
		expect := func(when, ifNoneMatch, etag string, sent bool, most int64) string {
			t.Helper()
			before := made.Load()
			got, has, err := ask(w, "default", ifNoneMatch)
			if err != nil || has != sent || etag != "" && got != etag || made.Load()-before > most {
				t.Errorf("%s, %s: %v, etag %.20s, want %.20s; sent %v; made %d times", name, when, err, got, etag, has, made.Load()-before)
			}
			return got
		}
		first := expect("at first", "", "", true, 1)
		expect("what is known", first, first, false, 0)
		expect("whatever there is", "*", first, false, 0)
		expect("another is known", `"other"`, first, true, 1)
		register("other", lampManifest)
		expect("a write to another catalog", first, first, false, 0)
		register("default", other)
		second := expect("after a registration", first, "", name != "groups" && name != "group", 1)
		if (second == first) != (name == "groups" || name == "group") { // these tell of names of groups and versions alone
			t.Errorf("%s: the etag after a registration is %.20s, and was %.20s", name, second, first)
		}
		expect("what is known now", second, second, false, 0)
		register("default", lampManifest)
		expect("as it was", first, first, false, 1)
		remove()
		if got, has, err := ask(w, "default", first); err == nil && (got == first || !has) {
			t.Errorf("%s, after it was deleted: etag %.20s, sent %v", name, got, has)
		}
		register("default", lampManifest)
	}
}

// TestETagsOfReplicas: another server with the same CRDs knows the etags, and one with others does not.
func TestETagsOfReplicas(t *testing.T) {
	one, same, empty := start(t, nil).withLamp(), start(t, nil).withLamp(), start(t, nil)
	for name, ask := range documentsOfCatalogs {
		etag, _, err := ask(one, "default", "")
		if err != nil {
			t.Fatal(name, err)
		}
		for range 2 {
			if got, sent, err := ask(same, "default", etag); err != nil || got != etag || sent {
				t.Errorf("%s: %v, etag %.20s for %.20s, sent %v", name, err, got, etag, sent)
			}
			if got, sent, err := ask(empty, "default", etag); err == nil && (got == etag || !sent) {
				t.Errorf("%s of nothing: etag %.20s, sent %v", name, got, sent)
			}
		}
	}
}

// TestETagsWhileWritten: whatever is written meanwhile, an answer without a document is one to the etag that was given.
func TestETagsWhileWritten(t *testing.T) {
	w := start(t, nil).withLamp()
	manifests := []string{lampManifest, strings.Replace(lampManifest, "A lamp.", "A light.", 1)}
	ask := documentsOfCatalogs["v3"]
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			known := ""
			for range 50 {
				got, sent, err := ask(w, "default", known)
				if err != nil || !sent && got != known {
					t.Errorf("%v: etag %.20s for %.20s, sent %v", err, got, known, sent)
				}
				known = got
			}
		})
	}
	for i := range 20 {
		if _, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: yamlDocument(manifests[i%2])}); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
}
