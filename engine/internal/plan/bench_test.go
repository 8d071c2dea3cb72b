package plan

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// The benchmarks' objects and CRDs. Those CRDs that belong to other projects come out of their modules: module@version/file.
var benchCases = []struct{ name, object, crd string }{
	{"crontab", "crontab.json", "../../conformance/testdata/bench/crontab-crd.yaml"},
	{"httproute-small", "httproute-small.json", "sigs.k8s.io/gateway-api@v1.5.1/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	{"httproute-large", "httproute-large.json", "sigs.k8s.io/gateway-api@v1.5.1/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	{"prometheus", "prometheus.json", "github.com/prometheus-operator/prometheus-operator@v0.85.0/example/prometheus-operator-crd-full/monitoring.coreos.com_prometheuses.yaml"},
	{"certificate", "certificate.json", "github.com/cert-manager/cert-manager@v1.21.2/deploy/crds/cert-manager.io_certificates.yaml"},
}

// moduleDir is where the module cache has a module, module@version; it is downloaded if it is not there.
func moduleDir(t testing.TB, module string) string {
	t.Helper()
	var m struct{ Dir string }
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module).Output()
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	if err != nil {
		t.Fatalf("go mod download %s: %v %s", module, err, out)
	}
	return m.Dir
}

// benchCase gives the schema of v1 and the object of a case.
func benchCase(t testing.TB, crd, object string) (*apiextensionsv1.JSONSchemaProps, []byte) {
	t.Helper()
	if !strings.HasPrefix(crd, ".") {
		at := strings.Index(crd, "@")
		module, file, _ := strings.Cut(crd[at:], "/")
		crd = filepath.Join(moduleDir(t, crd[:at]+module), file)
	}
	text, err := os.ReadFile(crd)
	if err != nil {
		t.Fatal(err)
	}
	var c apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("../../conformance/testdata/bench/" + object)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range c.Spec.Versions {
		if v.Name == "v1" {
			return v.Schema.OpenAPIV3Schema, src
		}
	}
	t.Fatal("no v1")
	return nil, nil
}

// TestBenchObjects: what the benchmarks measure is the accept walk, without an allocation.
func TestBenchObjects(t *testing.T) {
	for _, c := range benchCases {
		t.Run(c.name, func(t *testing.T) {
			s, src := benchCase(t, c.crd, c.object)
			p, err := Compile(s, Options{StatusSubresource: true})
			if err != nil {
				t.Fatal(err)
			}
			d := tree.Acquire()
			defer d.Release()
			var out []byte
			edits := &Edits{}
			run := func() {
				d.Reset()
				root, err := d.ParseJSON(src, tree.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if !p.Accept(d, root, Mode{Create: true, Edits: edits}) {
					t.Fatal("doubted")
				}
				out = d.AppendJSON(out[:0], root)
			}
			run()
			t.Logf("%d bytes in, %d out, %d edits, plan %d bytes", len(src), len(out), len(edits.List), p.Size())
			if n := testing.AllocsPerRun(100, run); n > 0 {
				t.Errorf("%v allocations, want none", n)
			}
		})
	}
}

func BenchmarkAccept(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			s, src := benchCase(b, c.crd, c.object)
			p, err := Compile(s, Options{StatusSubresource: true})
			if err != nil {
				b.Fatal(err)
			}
			d := tree.Acquire()
			defer d.Release()
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				d.Reset()
				root, _ := d.ParseJSON(src, tree.Limits{})
				if !p.Accept(d, root, Mode{Create: true}) {
					b.Fatal("doubted")
				}
				out = d.AppendJSON(out[:0], root)
			}
		})
	}
}

// BenchmarkShape compares the walk that only shapes with upstream's steps.
func BenchmarkShape(b *testing.B) {
	for _, c := range benchCases {
		s, src := benchCase(b, c.crd, c.object)
		p, err := Compile(s, Options{StatusSubresource: true})
		if err != nil {
			b.Fatal(err)
		}
		for name, shape := range map[string]func(*tree.Doc, uint32) bool{
			"walk": func(d *tree.Doc, root uint32) bool { return p.AcceptStored(d, root, Mode{}) },
			"steps": func(d *tree.Doc, root uint32) bool {
				_, pruning := p.Prune(d, root, false)
				_, nulls := p.DropNulls(d, root, false)
				_, found, coercion := p.CoerceEmbedded(d, root, metadata.Options{Lenient: true})
				_, defaulting := p.Default(d, root, false, tree.Limits{})
				return errors.Join(pruning, nulls, coercion, defaulting) == nil && found == nil
			},
		} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				d := tree.Acquire()
				defer d.Release()
				for b.Loop() {
					b.StopTimer()
					d.Reset()
					root, _ := d.ParseJSON(src, tree.Limits{})
					b.StartTimer()
					if !shape(d, root) {
						b.Fatal("doubted")
					}
				}
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			_, src := benchCase(b, c.crd, c.object)
			d := tree.Acquire()
			defer d.Release()
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				d.Reset()
				_, _ = d.ParseJSON(src, tree.Limits{})
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			s, _ := benchCase(b, c.crd, c.object)
			var p *Plan
			b.ReportAllocs()
			for b.Loop() {
				p, _ = Compile(s, Options{StatusSubresource: true})
			}
			b.ReportMetric(float64(p.Size())/1024, "KiB/plan")
		})
	}
}

// TestSize holds Plan.Size against the heap.
func TestSize(t *testing.T) {
	for _, c := range benchCases {
		t.Run(c.name, func(t *testing.T) {
			s, _ := benchCase(t, c.crd, c.object)
			heap := func() int64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			const copies = 20
			var plans [copies]*Plan
			warm, err := Compile(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			before := heap()
			for i := range plans {
				plans[i], _ = Compile(s, Options{})
			}
			got := (heap() - before) / copies
			runtime.KeepAlive(warm)
			runtime.KeepAlive(&plans)
			runtime.KeepAlive(s)
			size := plans[0].Size()
			t.Logf("heap %d KiB, Size %d KiB", got>>10, size>>10)
			if got > size*13/10+2048 || got < size*7/10-2048 {
				t.Errorf("heap retained %d bytes, Size says %d", got, size)
			}
		})
	}
}
