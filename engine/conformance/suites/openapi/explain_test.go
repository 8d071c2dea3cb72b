package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/publish"

	"k8s.io/apimachinery/pkg/runtime/schema"
	openapiclient "k8s.io/client-go/openapi"
	kubectl "k8s.io/kubectl/pkg/explain/v2"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/internal/definition"
	crdschema "github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/testenv"
)

// served is a server with one v3 document, as kubectl uses it.
type served struct {
	path     string
	document []byte
}

func (s served) Paths() (map[string]openapiclient.GroupVersion, error) {
	return map[string]openapiclient.GroupVersion{s.path: s}, nil
}

func (s served) Schema(string) ([]byte, error) { return s.document, nil }

func (s served) ServerRelativeURL() string { return "/openapi/v3/" + s.path }

// TestExplain runs kubectl explain for resources and fields of real and generated CRDs.
func TestExplain(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	var n struct{ texts, bytes, missing int }
	published := 0
	explain := func(m *maker, text []byte, count int) {
		decoded, err := definition.Decode(text)
		if err != nil {
			return
		}
		canonical, err := crdschema.Canonical(decoded.CRD)
		if err != nil {
			t.Fatal(err)
		}
		published++
		p, err := decode(canonical, fmt.Sprint("explain ", published))
		if err != nil {
			return
		}
		served0 := slices.IndexFunc(p.ours.Versions, func(v engine.VersionInfo) bool { return v.Served })
		if served0 < 0 {
			return
		}
		version := p.ours.Versions[served0].Name
		document, err := UpstreamV3(p.upstreams(), version)
		if err != nil {
			t.Fatal(err)
		}
		paths := m.paths(document, count)
		for _, path := range paths {
			o := publish.ExplainOptions{APIVersion: p.ours.Group + "/" + version}
			recursive, depth := m.Chance(30), 0
			if recursive {
				depth = m.IntN(5)
				o.Levels = cmp.Or(uint(depth), publish.AllLevels)
			}
			fields, ok := written(path)
			if !ok {
				continue
			}
			request := p.upstream.Spec.Names.Plural + fields
			var want bytes.Buffer
			server := served{path: "apis/" + p.ours.Group + "/" + version, document: document}
			wantErr := kubectl.PrintModelDescription(path, &want, server, schema.GroupVersionResource{
				Group: p.ours.Group, Version: version, Resource: p.upstream.Spec.Names.Plural,
			}, recursive, depth, "plaintext")
			got, gotErr := publish.Explain(t.Context(), request, o, p.ours)
			switch {
			case wantErr != nil && strings.Contains(wantErr.Error(), "expected schema argument"):
				continue // an empty clause, for which kubectl fails
			case wantErr != nil:
				n.missing++
				if gotErr == nil || "error: "+gotErr.Error() != wantErr.Error() {
					t.Errorf("%s: kubectl's error is %v, ours %v", request, wantErr, gotErr)
				}
			case gotErr != nil || got != want.String():
				t.Errorf("%s %+v: %v %s\n%s", request, o, gotErr, firstDifference(want.Bytes(), []byte(got)), text[:min(len(text), 4000)])
			default:
				n.bytes += len(got)
			}
			n.texts++
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	for i, crd := range c.CRDs {
		if !testenv.Sampled(i) {
			continue
		}
		explain(&maker{Rand: generate.New("explain/real", 1, uint64(i))}, crd.Doc, 2)
	}
	for k := range uint64(testenv.Volume(25)) {
		m := &maker{Rand: generate.New("explain", 1, k)}
		for _, manifest := range m.manifests() {
			explain(m, manifest.JSON(), 8)
		}
	}
	t.Logf("%d explanations of %d bytes, %d of no field", n.texts, n.bytes, n.missing)
	if n.missing > n.texts/3 || n.missing == 0 {
		t.Error("the requests have lost their balance")
	}
}

// paths returns paths of properties in a document's kinds: the empty one, and others, one in ten of which does not
// exist.
func (m *maker) paths(document []byte, count int) [][]string {
	var doc struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		panic(errors.New("upstream's document: " + err.Error()))
	}
	out := [][]string{nil}
	for range count {
		at := doc.Components.Schemas
		var start json.RawMessage
		for _, name := range slices.Sorted(maps.Keys(at)) {
			if !strings.HasPrefix(name, "io.k8s.api") && !strings.HasSuffix(name, "List") {
				start = at[name]
			}
		}
		node, err := jsontree.Parse(start)
		if err != nil {
			continue
		}
		if path := m.path(node); len(path) > 0 {
			out = append(out, path)
		}
	}
	return out
}

func (m *maker) path(at *jsontree.Node) (path []string) {
	for range m.Between(1, 6) {
		for at != nil && at.Get("properties") == nil && (at.Get("items") != nil || at.Get("additionalProperties") != nil) {
			next := at.Get("items")
			if next == nil {
				next = at.Get("additionalProperties")
			}
			if next.Kind != jsontree.Object {
				return path
			}
			at = next
		}
		if m.Chance(4) {
			return append(path, "nothing")
		}
		if at == nil || at.Get("properties") == nil || len(at.Get("properties").Members) == 0 {
			return path
		}
		member := generate.Pick(m.Rand, at.Get("properties").Members)
		path, at = append(path, member.Key), member.Value
	}
	return path
}

// written formats a path for kubectl. ok is false for names that kubectl cannot parse.
func written(path []string) (s string, ok bool) {
	escape := regexp.MustCompile(`[\s.,\[\]$@{}]`)
	var out strings.Builder
	for _, name := range path {
		if name == "" || name == "*" || strings.Contains(name, `\`) {
			return "", false
		}
		out.WriteString("." + escape.ReplaceAllString(name, `\$0`))
	}
	return out.String(), true
}
