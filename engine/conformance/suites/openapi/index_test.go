package openapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/internal/definition"
	crdschema "github.com/crdeval/crdeval/engine/internal/schema"
)

var _ common.PathHandlerByGroupVersion = handlers{}

// handlers are those of upstream's service, by prefix.
type handlers map[string]http.Handler

func (h handlers) Handle(path string, handler http.Handler)       { h[path] = handler }
func (h handlers) HandlePrefix(path string, handler http.Handler) { h[path] = handler }

// TestIndex compares the index and the ETags with those of upstream's own service for the documents of many CRDs.
func TestIndex(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	type place struct{ group, version string }
	parts := map[place][]*spec3.OpenAPI{}
	seen := map[string]bool{}
	var crds []publish.CRD
	for _, crd := range c.CRDs {
		decoded, err := definition.Decode(crd.Doc)
		if err != nil || seen[decoded.CRD.Name] || len(crds) == 60 {
			continue
		}
		seen[decoded.CRD.Name] = true
		canonical, err := crdschema.Canonical(decoded.CRD)
		if err != nil {
			t.Fatal(err)
		}
		p, err := decode(canonical, "index "+crd.Name)
		if err != nil {
			t.Fatal(err)
		}
		crds = append(crds, p.ours)
		for _, v := range p.upstream.Spec.Versions {
			if v.Served {
				at := place{p.upstream.Spec.Group, v.Name}
				parts[at] = append(parts[at], upstreamPart(t, p.upstream, v.Name))
			}
		}
	}
	service := handler3.NewOpenAPIService()
	for at, docs := range parts {
		merged, err := builder.MergeSpecsV3(docs...)
		if err != nil {
			t.Fatal(err)
		}
		service.UpdateGroupVersion("apis/"+at.group+"/"+at.version, merged)
	}
	server := handlers{}
	if err := service.RegisterOpenAPIV3VersionedService("/openapi/v3", server); err != nil {
		t.Fatal(err)
	}
	get := func(prefix, path string) (body, etag string) {
		w := httptest.NewRecorder()
		server[prefix].ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Body.String(), strings.Trim(w.Header().Get("ETag"), `"`)
	}
	check := func(path string, got *publish.OpenAPIDocument, err error, body, etag string) {
		t.Helper()
		switch {
		case err != nil:
			t.Errorf("%s: %v", path, err)
		case string(got.JSON) != body:
			t.Errorf("%s: %s", path, firstDifference([]byte(body), got.JSON))
		case got.ETag != etag:
			t.Errorf("%s: ETag %s, upstream's is %s", path, got.ETag, etag)
		}
	}
	body, etag := get("/openapi/v3", "/openapi/v3")
	for range 2 { // new and cached
		index, err := publish.OpenAPI{}.V3Index(t.Context(), "", crds...)
		check("index", index, err, body, etag)
	}
	for at := range parts {
		path := "/openapi/v3/apis/" + at.group + "/" + at.version
		body, etag := get("/openapi/v3/", path)
		doc, err := publish.OpenAPI{}.V3(t.Context(), at.group, at.version, crds...)
		check(path, doc, err, body, etag)
	}
	t.Logf("%d CRDs, %d documents", len(crds), len(parts))
}

func upstreamPart(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string) *spec3.OpenAPI {
	t.Helper()
	doc, err := builder.BuildOpenAPIV3(crd, version, v3Options)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
