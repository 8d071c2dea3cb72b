package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

const boatsCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.sea.example.com"},
"spec":{"group":"sea.example.com","scope":"Cluster","names":{"plural":"boats","singular":"boat","kind":"Boat","shortNames":["bt"]},"versions":[
{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","description":"A boat.","properties":{"spec":{"type":"object","properties":{"a.b":{"type":"string"},"length":{"type":"integer","description":"In feet."}}}}}}},
{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},
{"name":"v1alpha1","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

func boats(t testing.TB, kind string) *engine.Definition {
	t.Helper()
	text := strings.NewReplacer("boats", strings.ToLower(kind)+"s", `"boat"`, `"`+strings.ToLower(kind)+`"`, "Boat", kind).Replace(boatsCRD)
	if kind != "Boat" {
		text = strings.Replace(text, `"shortNames":["bt"]`, `"shortNames":[]`, 1)
	}
	d, report, err := engine.Compile(t.Context(), engine.JSON([]byte(text)), engine.Options{})
	if err != nil || !report.Accepted {
		t.Fatalf("%v %+v", err, report)
	}
	return d
}

func TestOpenAPIDocuments(t *testing.T) {
	ctx := t.Context()
	crds := engine.Published(boats(t, "Buoy"), nil, boats(t, "Boat"))
	v3, err := engine.OpenAPIV3(ctx, "sea.example.com", "v1", crds...)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(v3.JSON) || len(v3.ETag) != 128 || strings.ToUpper(v3.ETag) != v3.ETag {
		t.Errorf("ETag %s of %s", v3.ETag, v3.JSON)
	}
	for _, want := range []string{`"com.example.sea.v1.Boat":{`, `"com.example.sea.v1.BuoyList":{`, `"/apis/sea.example.com/v1/boats/{name}":{`} {
		if !bytes.Contains(v3.JSON, []byte(want)) {
			t.Errorf("%s is missing", want)
		}
	}
	if again, err := engine.OpenAPIV3(ctx, "sea.example.com", "v1", engine.Published(boats(t, "Boat"), boats(t, "Buoy"))...); err != nil || again.ETag != v3.ETag || !bytes.Equal(again.JSON, v3.JSON) {
		t.Errorf("another order makes another document: %v", err)
	}
	if one, err := engine.OpenAPIV3(ctx, "sea.example.com", "v1", crds[0]); err != nil || one.ETag == v3.ETag {
		t.Errorf("one CRD less makes no other document: %v", err)
	}
	v2, err := engine.OpenAPIV2(ctx, crds...)
	if err != nil || !json.Valid(v2.JSON) || !bytes.Contains(v2.JSON, []byte(`"com.example.sea.v1beta1.Buoy":`)) || bytes.Contains(v2.JSON, []byte("com.example.sea.v1alpha1")) {
		t.Errorf("v2: %v %s", err, v2.JSON)
	}
	models, err := engine.OpenAPIModels(ctx, crds[0])
	if err != nil || !bytes.Contains(models.JSON, []byte(`"com.example.sea.v1alpha1.Buoy":`)) {
		t.Errorf("a version that is not served has no model: %v", err)
	}
	index, err := engine.OpenAPIV3Index(ctx, "/catalogs/c", crds...)
	want := `"apis/sea.example.com/v1":{"serverRelativeURL":"/catalogs/c/openapi/v3/apis/sea.example.com/v1?hash=` + v3.ETag + `"}`
	if err != nil || !bytes.Contains(index.JSON, []byte(want)) || bytes.Contains(index.JSON, []byte("v1alpha1")) {
		t.Errorf("index: %v %s", err, index.JSON)
	}
	if empty, err := engine.OpenAPIV3Index(ctx, ""); err != nil || string(empty.JSON) != `{"paths":{}}` {
		t.Errorf("index of nothing: %v", err)
	}
}

func TestOpenAPIErrors(t *testing.T) {
	ctx, d := t.Context(), boats(t, "Boat")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	unreadable := errors.New("the store is gone")
	described := func(manifest func(context.Context) ([]byte, error)) engine.PublishedCRD {
		return engine.PublishedCRD{Name: d.Name(), Group: d.Group(), Revision: t.Name(), Versions: []engine.VersionInfo{{Name: "v9", Served: true}}, Manifest: manifest}
	}
	for _, tc := range []struct {
		name   string
		call   func() (*engine.OpenAPIDocument, error)
		reason engine.Reason
	}{
		{"no such version", func() (*engine.OpenAPIDocument, error) {
			return engine.OpenAPIV3(ctx, d.Group(), "v7", engine.Published(d)...)
		}, engine.ReasonVersionNotFound},
		{"no such group", func() (*engine.OpenAPIDocument, error) {
			return engine.OpenAPIV3(ctx, "x", "v1", engine.Published(d)...)
		}, engine.ReasonVersionNotFound},
		{"a version that is not served", func() (*engine.OpenAPIDocument, error) {
			return engine.OpenAPIV3(ctx, d.Group(), "v1alpha1", engine.Published(d)...)
		}, engine.ReasonVersionNotFound},
		{"two of a kind", func() (*engine.OpenAPIDocument, error) {
			return engine.OpenAPIV3(ctx, d.Group(), "v1", engine.Published(d, d)...)
		}, engine.ReasonInvalidArgument},
		{"two of a kind in the index", func() (*engine.OpenAPIDocument, error) {
			return engine.OpenAPIV3Index(ctx, "", engine.Published(d, d)...)
		}, engine.ReasonInvalidArgument},
		{"the call has ended", func() (*engine.OpenAPIDocument, error) {
			return engine.OpenAPIV2(ended, engine.Published(boats(t, "Anchor"))...)
		}, engine.ReasonItemDeadline},
		{"a manifest of another CRD", func() (*engine.OpenAPIDocument, error) {
			return engine.OpenAPIV3(ctx, d.Group(), "v9", described(func(context.Context) ([]byte, error) { return d.Manifest(), nil }))
		}, engine.ReasonVersionNotFound},
		{"a manifest that is none", func() (*engine.OpenAPIDocument, error) {
			return engine.OpenAPIV3(ctx, d.Group(), "v9", described(func(context.Context) ([]byte, error) { return []byte("{"), nil }))
		}, engine.ReasonInternal},
		{"a manifest that cannot be had", func() (*engine.OpenAPIDocument, error) {
			return engine.OpenAPIV3(ctx, d.Group(), "v9", described(func(context.Context) ([]byte, error) { return nil, unreadable }))
		}, ""},
	} {
		if doc, err := tc.call(); doc != nil || err == nil || engine.ReasonOf(err) != tc.reason {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestOpenAPIKept asks for more than is kept, from many goroutines.
func TestOpenAPIKept(t *testing.T) {
	d := boats(t, "Boat")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100 {
				crd := engine.PublishedCRD{
					Name: d.Name(), Group: d.Group(), Revision: fmt.Sprint("kept ", g, " ", i%60), Versions: d.Versions(),
					Manifest: func(context.Context) ([]byte, error) { return d.Manifest(), nil },
				}
				if _, err := engine.OpenAPIV3(t.Context(), d.Group(), "v1", crd); err != nil {
					t.Error(err)
				}
				if kept := engine.OpenAPIKept(); kept <= 0 || kept > 40<<20 {
					t.Errorf("%d bytes are kept", kept)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkOpenAPI makes documents that are not kept from before.
func BenchmarkOpenAPI(b *testing.B) {
	d := boats(b, "Boat")
	for i := 0; b.Loop(); i++ {
		crd := engine.PublishedCRD{
			Name: d.Name(), Group: d.Group(), Revision: fmt.Sprint("bench ", i), Versions: d.Versions(),
			Manifest: func(context.Context) ([]byte, error) { return d.Manifest(), nil },
		}
		if _, err := engine.OpenAPIV3(b.Context(), d.Group(), "v1", crd); err != nil {
			b.Fatal(err)
		}
	}
}
