package engine_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/crdeval/crdeval/"

// rank orders the layers of the engine: a package may import packages of a lower rank only.
var rank = map[string]int{
	"engine/internal/tree":       0,
	"engine/document":            1,
	"engine/rules":               0,
	"engine/testenv":             0,
	"engine/testenv/writecase":   0,
	"engine/conversionwebhook":   0,
	"engine/internal/quirk":      0,
	"engine/internal/interrupt":  0,
	"engine/internal/pattern":    1,
	"engine/internal/violation":  1,
	"engine/internal/schema":     2,
	"engine/internal/format":     1,
	"engine/internal/sample":     3,
	"engine/internal/metadata":   3,
	"engine/internal/closure":    2,
	"engine/internal/rule":       5,
	"engine/internal/plan":       6,
	"engine/internal/patch":      3,
	"engine/internal/compare":    7,
	"engine/internal/jsonpath":   6,
	"engine/internal/selector":   7,
	"engine/internal/table":      7,
	"engine/internal/hint":       7,
	"engine/internal/explain":    0,
	"engine/internal/openapi":    7,
	"engine/internal/lens":       8,
	"engine/internal/laws":       9,
	"engine/internal/search":     4,
	"engine/internal/solve":      7,
	"engine/internal/definition": 10,
	"engine/internal/admission":  9,
	"engine/internal/compiled":   11,
	"engine/internal/goal":       12,
	"engine/host":                12,
	"engine":                     13,
	"engine/internal/fixture":    14,
	"engine/diff":                14,
	"engine/publish":             14,
	"engine/convert":             14,
	"engine/kubeserver":          15,
	"engine/workspace":           16,
	"engine/suite":               17,
	"engine/suite/mutation":      18,
	"engine/crdevaltest":         19,

	"engine/internal/rule/celenv":    2,
	"engine/internal/rule/celparse":  1,
	"engine/internal/rule/celcheck":  3,
	"engine/internal/rule/interpret": 4,
	"engine/internal/rule/trace":     4,
}

// forbidden lists what a tree of packages must never import, directly or through others, and why.
var forbidden = []struct{ from, to, why string }{
	{"engine", module + "proto", "the engine is a library: Go users must not pay for gRPC"},
	{"engine", module + "server", "the engine does no I/O"},
	{"engine", "google.golang.org/grpc", "the engine is a library: Go users must not pay for gRPC"},
	{"engine", "go.etcd.io", "the engine stores nothing"},
	{"engine", "go.opentelemetry.io/otel", "telemetry reaches the engine through its Observer"},
	{"server/editor/playground/page", "google.golang.org/grpc", "it runs as WebAssembly, whose size is bounded"},
	{"server/editor/playground/page", module + "proto", "it runs as WebAssembly, whose size is bounded"},
	{"server/editor/assist", "github.com/sourcegraph/jsonrpc2", "the playground uses it without the protocol of editors"},
	{"server/editor/assist", module + "server/cmd/crdeval/repository", "it does no I/O"},
	{"server/cmd/crdeval/terminal", module, "it needs a writer only"},
	{"server/cmd/crdeval/input", module + "proto", "it reads files without a service"},
	{"server/cmd/crdeval/baseline", module + "proto", "it reads files without a service"},
	{"server/cmd/crdeval/crdsources", module + "proto", "it reads files and URLs without a service"},
	{"server/cmd/crdeval/samplefiles", module + "proto", "it writes what the engine returns"},
	{"server/cmd/crdeval/cluster", module + "proto", "it is a client of Kubernetes, not of crdeval"},
	{"server/cmd/crdeval/catalog", module + "server/api", "commands evaluate without a server"},
	{"server/cmd/crdeval/catalog", module + "server/transport/inprocess", "commands evaluate without a server"},
	{"server/cmd/crdeval/catalog", module + "proto", "commands evaluate without a server"},
	{"cache", module + "engine", "the cache is generic"},
	{"cache", module + "proto", "the cache is generic"},
	{"cache", module + "server", "the cache is generic"},
	{"clients/go", module + "engine", "a client carries the API, not the engine"},
	{"clients/go", module + "server", "a client carries the API, not the server"},
	{"", "k8s.io/apiextensions-apiserver/pkg/apiserver", "upstream's logic is the oracle of engine/conformance, never production code"},
	{"", "k8s.io/apiextensions-apiserver/pkg/registry", "upstream's logic is the oracle of engine/conformance, never production code"},
	{"", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation", "upstream's logic is the oracle of engine/conformance, never production code"},
	{"", "k8s.io/apiserver/pkg/cel/environment", "it drags in component-base and prometheus"},
	{"engine", "k8s.io/component-base", "too heavy for a library"},
	{"engine", "github.com/prometheus/client_golang", "telemetry reaches the engine through its Observer"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestImportDirections(t *testing.T) {
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if path == p.ImportPath {
			continue
		}
		for _, f := range forbidden {
			if f.from != "" && path != f.from && !strings.HasPrefix(path, f.from+"/") {
				continue
			}
			for _, d := range p.Deps {
				if d == f.to || strings.HasPrefix(d, strings.TrimSuffix(f.to, "/")+"/") {
					t.Errorf("%s reaches %s: %s", path, d, f.why)
				}
			}
		}
		own, ranked := rank[path]
		if strings.HasPrefix(path, "engine") && !ranked && !strings.HasPrefix(path, "engine/internal/casefile") {
			t.Errorf("%s has no rank in the order of the engine's layers: give it one", path)
		}
		if !ranked {
			continue
		}
		for _, imp := range p.Imports {
			if r, ok := rank[strings.TrimPrefix(imp, module)]; ok && r >= own {
				t.Errorf("%s imports %s, which stands above or beside it", path, imp)
			}
		}
	}
}

// TestNoVagueNames keeps packages from being called after nothing.
func TestNoVagueNames(t *testing.T) {
	for _, p := range list(t) {
		for _, word := range []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"} {
			if strings.HasPrefix(p.ImportPath, module) && strings.HasSuffix(p.ImportPath, "/"+word) {
				t.Errorf("%s: a package is named for what it knows", p.ImportPath)
			}
		}
	}
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", module+"...")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	var all []pkg
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		t.Fatal("go list found no packages")
	}
	return all
}
