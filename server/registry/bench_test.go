package registry

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
)

// filled returns a store with CRDs that are alike but for their names, in groups of 100 or all in one.
func filled(b testing.TB, crds int, oneGroup bool) *testStore {
	store := newTestStore()
	r := newRegistry(b, store, nil)
	for i := range crds {
		group := "g.io"
		if !oneGroup {
			group = fmt.Sprintf("g%d.io", i/100)
		}
		plural := fmt.Sprintf("foos%d", i)
		rev := testRevision(fmt.Sprint(i), group, apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: "x" + plural, Kind: "Foo" + plural, ListKind: "List" + plural, ShortNames: []string{"s" + plural}})
		rev.content = pack([]byte(strings.Repeat(plural+" has a description that is not the same everywhere. ", 20)))
		mustRegister(b, r, "default", rev)
	}
	return store
}

// A registration among 10,000 others costs what it costs among 10: compilation and the store's own time are not in it.
func BenchmarkWrite(b *testing.B) {
	for _, crds := range []int{10, 10_000} {
		for _, oneGroup := range []bool{false, true} {
			b.Run(fmt.Sprintf("among %d, one group %t", crds, oneGroup), func(b *testing.B) {
				r := newRegistry(b, filled(b, crds, oneGroup), nil)
				rev := [2]*revision{foos("a"), foos("b")}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if _, err := register(b, r, "default", rev[i%2], Precondition{}); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}

// Loading 10,000 CRDs.
func BenchmarkLoad(b *testing.B) {
	store := filled(b, 10_000, false)
	b.ReportAllocs()
	for b.Loop() {
		newRegistry(b, store, nil)
	}
}

// To find a CRD by its kind, without compiling it.
func BenchmarkFind(b *testing.B) {
	for _, crds := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("among %d", crds), func(b *testing.B) {
			r := newRegistry(b, filled(b, crds, false), nil)
			some, _, err := engine.Compile(b.Context(), crontabs(1), engine.Options{})
			if err != nil {
				b.Fatal(err)
			}
			r.Programs.Add("sha256:5", some)
			b.ReportAllocs()
			for b.Loop() {
				v, err := r.View(b.Context(), "default", "")
				if err != nil {
					b.Fatal(err)
				}
				if _, err := v.OfKind(b.Context(), "g0.io", "Foofoos5", ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// CRDs take some KiB each beside their manifests, however many there are.
func TestScale(t *testing.T) {
	store := filled(t, 2000, false)
	start := time.Now()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := newRegistry(t, store, nil)
	took := time.Since(start)
	runtime.GC()
	runtime.ReadMemStats(&after)
	n := r.Counts()
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc) - n.ManifestBytes) / int64(n.CRDs)
	t.Logf("%d CRDs loaded in %v; %d bytes each beside the manifest", n.CRDs, took, each)
	if n.CRDs != 2000 || each > 8<<10 {
		t.Errorf("%d bytes each", each)
	}
	if page, err := r.CRDs(context.Background(), "default", Page{Size: 1000}, ""); err != nil || len(page.CRDs) != 1000 {
		t.Errorf("%d, %v", len(page.CRDs), err)
	}
}
