package publish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
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

// published describes definitions as CRDs without a status.
func published(definitions ...*engine.Definition) (crds []publish.CRD) {
	for _, d := range definitions {
		crds = append(crds, publish.NewCRD(d, apiextensionsv1.CustomResourceDefinitionStatus{}))
	}
	return crds
}

func TestOpenAPIDocuments(t *testing.T) {
	ctx := t.Context()
	crds := published(boats(t, "Buoy"), boats(t, "Boat"))
	v3, err := publish.OpenAPI{}.V3(ctx, "sea.example.com", "v1", crds...)
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
	if again, err := (publish.OpenAPI{}).V3(ctx, "sea.example.com", "v1", published(boats(t, "Boat"), boats(t, "Buoy"))...); err != nil || again.ETag != v3.ETag || !bytes.Equal(again.JSON, v3.JSON) {
		t.Errorf("another order makes another document: %v", err)
	}
	if one, err := (publish.OpenAPI{}).V3(ctx, "sea.example.com", "v1", crds[0]); err != nil || one.ETag == v3.ETag {
		t.Errorf("one CRD less makes no other document: %v", err)
	}
	v2, err := publish.OpenAPI{}.V2(ctx, crds...)
	if err != nil || !json.Valid(v2.JSON) || !bytes.Contains(v2.JSON, []byte(`"com.example.sea.v1beta1.Buoy":`)) || bytes.Contains(v2.JSON, []byte("com.example.sea.v1alpha1")) {
		t.Errorf("v2: %v %s", err, v2.JSON)
	}
	models, err := publish.OpenAPI{}.Models(ctx, crds[0])
	if err != nil || !bytes.Contains(models.JSON, []byte(`"com.example.sea.v1alpha1.Buoy":`)) {
		t.Errorf("a version that is not served has no model: %v", err)
	}
	index, err := publish.OpenAPI{}.V3Index(ctx, "/catalogs/c", crds...)
	want := `"apis/sea.example.com/v1":{"serverRelativeURL":"/catalogs/c/openapi/v3/apis/sea.example.com/v1?hash=` + v3.ETag + `"}`
	if err != nil || !bytes.Contains(index.JSON, []byte(want)) || bytes.Contains(index.JSON, []byte("v1alpha1")) {
		t.Errorf("index: %v %s", err, index.JSON)
	}
	if empty, err := (publish.OpenAPI{}).V3Index(ctx, ""); err != nil || string(empty.JSON) != `{"paths":{}}` {
		t.Errorf("index of nothing: %v", err)
	}
}

func TestOpenAPIErrors(t *testing.T) {
	ctx, d := t.Context(), boats(t, "Boat")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	unreadable := errors.New("the store is gone")
	described := func(manifest func(context.Context) ([]byte, error)) publish.CRD {
		return publish.CRD{Name: d.Name(), Group: d.Group(), Names: kubeserver.DesiredStatusOf(d).Names, Revision: t.Name(), Versions: []engine.VersionInfo{{Name: "v9", Served: true}}, Manifest: manifest}
	}
	for _, tc := range []struct {
		name   string
		call   func() (*publish.OpenAPIDocument, error)
		reason engine.Reason
	}{
		{"no such version", func() (*publish.OpenAPIDocument, error) {
			return publish.OpenAPI{}.V3(ctx, d.Group(), "v7", published(d)...)
		}, engine.ReasonVersionNotFound},
		{"no such group", func() (*publish.OpenAPIDocument, error) {
			return publish.OpenAPI{}.V3(ctx, "x", "v1", published(d)...)
		}, engine.ReasonVersionNotFound},
		{"a version that is not served", func() (*publish.OpenAPIDocument, error) {
			return publish.OpenAPI{}.V3(ctx, d.Group(), "v1alpha1", published(d)...)
		}, engine.ReasonVersionNotFound},
		{"two of a kind", func() (*publish.OpenAPIDocument, error) {
			return publish.OpenAPI{}.V3(ctx, d.Group(), "v1", published(d, d)...)
		}, engine.ReasonInvalidArgument},
		{"two of a kind in the index", func() (*publish.OpenAPIDocument, error) {
			return publish.OpenAPI{}.V3Index(ctx, "", published(d, d)...)
		}, engine.ReasonInvalidArgument},
		{"the call has ended", func() (*publish.OpenAPIDocument, error) {
			return publish.OpenAPI{}.V2(ended, published(boats(t, "Anchor"))...)
		}, engine.ReasonItemDeadline},
		{"a manifest of another CRD", func() (*publish.OpenAPIDocument, error) {
			return publish.OpenAPI{}.V3(ctx, d.Group(), "v9", described(func(context.Context) ([]byte, error) { return d.Manifest(), nil }))
		}, engine.ReasonVersionNotFound},
		{"an invalid manifest", func() (*publish.OpenAPIDocument, error) {
			return publish.OpenAPI{}.V3(ctx, d.Group(), "v9", described(func(context.Context) ([]byte, error) { return []byte("{"), nil }))
		}, engine.ReasonInternal},
		{"a manifest that cannot be had", func() (*publish.OpenAPIDocument, error) {
			return publish.OpenAPI{}.V3(ctx, d.Group(), "v9", described(func(context.Context) ([]byte, error) { return nil, unreadable }))
		}, ""},
	} {
		if doc, err := tc.call(); doc != nil || err == nil || engine.ReasonOf(err) != tc.reason {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestOpenAPIConcurrently requests more documents than the cache holds, from several goroutines.
func TestOpenAPIConcurrently(t *testing.T) {
	d := boats(t, "Boat")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100 {
				crd := publish.CRD{
					Name: d.Name(), Group: d.Group(), Names: kubeserver.DesiredStatusOf(d).Names, Revision: fmt.Sprint("kept ", g, " ", i%60), Versions: d.Versions(),
					Manifest: func(context.Context) ([]byte, error) { return d.Manifest(), nil },
				}
				if _, err := (publish.OpenAPI{}).V3(t.Context(), d.Group(), "v1", crd); err != nil {
					t.Error(err)
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
		crd := publish.CRD{
			Name: d.Name(), Group: d.Group(), Names: kubeserver.DesiredStatusOf(d).Names, Revision: fmt.Sprint("bench ", i), Versions: d.Versions(),
			Manifest: func(context.Context) ([]byte, error) { return d.Manifest(), nil },
		}
		if _, err := (publish.OpenAPI{}).V3(b.Context(), d.Group(), "v1", crd); err != nil {
			b.Fatal(err)
		}
	}
}

// shallow describes CRDs whose documents are large, each some MiB, and reports each read of a manifest before it.
func shallow(name string, count, bytes int, reading func()) []publish.CRD {
	text := strings.Repeat("x", bytes)
	crds := make([]publish.CRD, count)
	for i := range crds {
		kind := fmt.Sprintf("Shallow%03d", i)
		crds[i] = publish.CRD{
			Name: strings.ToLower(kind) + "s.sea.example.com", Group: "sea.example.com", Revision: fmt.Sprint(name, " ", i), Versions: []engine.VersionInfo{{Name: "v1", Served: true}},
			Manifest: func(context.Context) ([]byte, error) {
				reading()
				return []byte(strings.NewReplacer("boats", strings.ToLower(kind)+"s", `"kind":"Boat"`, `"kind":"`+kind+`","listKind":"`+kind+`List"`, "A boat.", text).Replace(boatsCRD)), nil
			},
		}
	}
	return crds
}

// TestOpenAPIMemory checks that building a large document takes no more memory than its parts and the whole.
func TestOpenAPIMemory(t *testing.T) {
	testenv.SingleGoroutine(t)
	const beside = 32 << 20 // caches, a manifest and its tree
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var most, readings uint64
	crds := shallow(t.Name(), 24, 2<<20, func() {
		if readings++; readings%4 == 0 {
			most = max(most, live())
		}
	})
	for name, call := range map[string]func(publish.OpenAPI) (*publish.OpenAPIDocument, error){
		"v2": func(p publish.OpenAPI) (*publish.OpenAPIDocument, error) {
			return p.V2(t.Context(), crds...)
		},
		"v3": func(p publish.OpenAPI) (*publish.OpenAPIDocument, error) {
			return p.V3(t.Context(), "sea.example.com", "v1", crds...)
		},
	} {
		most, readings = 0, 0
		before := live()
		asked := int64(0)
		doc, err := call(publish.OpenAPI{Reserve: func(n int64) error {
			asked += n
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		size := uint64(len(doc.JSON))
		t.Logf("%s: %d MiB, at most %d MiB in memory, %d readings", name, size>>20, (most-before)>>20, readings)
		if size < 48<<20 || most > before+size+beside {
			t.Errorf("%s: a document of %d bytes, and %d in memory", name, size, most-before)
		}
		if uint64(asked) < size-1024 || uint64(asked) > size+1024 {
			t.Errorf("%s: reserved %d bytes of %d", name, asked, size)
		}
		readings = 0
		var limit *engine.Error
		if doc, err := call(publish.OpenAPI{MaxBytes: 20 << 20}); doc != nil || !errors.As(err, &limit) || limit.Reason != engine.ReasonLimitExceeded || limit.Limit != 20<<20 || readings > 12 {
			t.Errorf("%s: %v after %d readings", name, err, readings)
		}
		full := errors.New("full")
		if doc, err := call(publish.OpenAPI{Reserve: func(int64) error { return full }}); doc != nil || !errors.Is(err, full) {
			t.Errorf("%s without memory: %v", name, err)
		}
	}
}

// TestOpenAPIIndexReserve checks that the index reserves the size of its largest document only.
func TestOpenAPIIndexReserve(t *testing.T) {
	crds := shallow(t.Name(), 3, 1<<20, func() {})
	for i := range crds {
		crds[i].Group = fmt.Sprint("g", i)
	}
	asked := int64(0)
	if _, err := (publish.OpenAPI{Reserve: func(n int64) error { asked += n; return nil }}).V3Index(t.Context(), "", crds...); err != nil || asked < 1<<20 || asked > 2<<20 {
		t.Errorf("%v, asked for %d", err, asked)
	}
	// A document that is kept needs no room, and is rejected all the same where it is too large.
	small := published(boats(t, "Skiff"))
	if _, err := (publish.OpenAPI{}).V2(t.Context(), small...); err != nil {
		t.Fatal(err)
	}
	if doc, err := (publish.OpenAPI{Reserve: func(int64) error { return errors.New("asked") }}).V2(t.Context(), small...); err != nil || doc == nil {
		t.Error(err)
	}
	if _, err := (publish.OpenAPI{MaxBytes: 100}).V2(t.Context(), small...); engine.ReasonOf(err) != engine.ReasonLimitExceeded {
		t.Error(err)
	}
}
