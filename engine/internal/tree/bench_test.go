package tree

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
)

// route returns an object of about 11 KB, as dense as a large HTTPRoute.
func route() []byte {
	var b strings.Builder
	b.WriteString(`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"large","namespace":"default","labels":{"app.kubernetes.io/name":"shop"}},"spec":{"parentRefs":[{"name":"gateway","sectionName":"https"}],"hostnames":["shop.example.com","www.example.com"],"rules":[`)
	for i := range 16 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"rule-%d","matches":[{"path":{"type":"PathPrefix","value":"/api/v%d"},"headers":[{"type":"Exact","name":"x-tenant","value":"tenant-%d"},{"type":"RegularExpression","name":"x-canary","value":"^(true|1)$"}],"queryParams":[{"type":"Exact","name":"debug","value":"1"}],"method":"GET"}],"filters":[{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":"x-route","value":"r%d"}],"remove":["x-internal"]}}],"backendRefs":[{"group":"","kind":"Service","name":"shop-%d","port":8080,"weight":90},{"group":"","kind":"Service","name":"canary-%d","port":8080,"weight":10}]}`, i, i, i, i, i, i)
	}
	b.WriteString(`]}}`)
	return []byte(b.String())
}

func TestWarmDocAllocatesNothing(t *testing.T) {
	text := route()
	odd := []byte(`{"a\n":"\u00e9\ud800","f":[1.0,2.5,123456789012345678901],"a\n":"é"}`)
	var manifests [][]byte
	for _, text := range scanned {
		if !strings.ContainsAny(text, "_xo.") { // numbers of unusual forms take allocations
			manifests = append(manifests, []byte(text))
		}
	}
	d := Acquire()
	defer d.Release()
	out := make([]byte, 0, 2*len(text))
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"parse", func() { d.Reset(); mustParse(t, d, text) }},
		{"parse with escapes, floats and duplicates", func() { d.Reset(); mustParse(t, d, odd) }},
		{"output", func() { out = d.AppendJSON(out[:0], d.Root(Request)) }},
		{"peek", func() { PeekTypeMeta(text) }},
		{"parse YAML", func() {
			for _, text := range manifests {
				d.Reset()
				if _, err := d.ParseYAML(text, Request, Limits{}); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		c.do()
		if got := testing.AllocsPerRun(100, c.do); got != 0 {
			t.Errorf("%s: %v allocations", c.name, got)
		}
	}
}

func mustParse(t testing.TB, d *Doc, text []byte) uint32 {
	root, err := d.ParseJSON(text, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func BenchmarkParse(b *testing.B) {
	text := route()
	d := Acquire()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		d.Reset()
		mustParse(b, d, text)
	}
	b.ReportMetric(float64(len(d.Nodes)), "nodes")
}

func BenchmarkParseIndented(b *testing.B) {
	var v any
	if err := json.Unmarshal(route(), &v); err != nil {
		b.Fatal(err)
	}
	text, _ := json.MarshalIndent(v, "", "  ")
	d := Acquire()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d.Reset()
		mustParse(b, d, text)
	}
}

func BenchmarkAny(b *testing.B) {
	d := Acquire()
	defer d.Release()
	root, err := d.ParseJSON(route(), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d.Any(root)
	}
}

func BenchmarkPeekTypeMeta(b *testing.B) {
	text := route()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		PeekTypeMeta(text)
	}
}

func BenchmarkPeekList(b *testing.B) {
	text, err := json.MarshalIndent(map[string]any{"kind": "List", "items": []json.RawMessage{route(), route()}}, "", "    ")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, items, ok := PeekList(text); !ok || len(items) != 2 {
			b.Fatal(len(items))
		}
	}
}

func BenchmarkUpstreamStrict(b *testing.B) {
	text := route()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		m := map[string]any{}
		if _, err := kjson.UnmarshalStrict(text, &m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOutput(b *testing.B) {
	text := route()
	d := Acquire()
	root := mustParse(b, d, text)
	spec := d.Field(root, "spec")
	for _, i := range []uint32{root, spec, d.Field(spec, "rules")} {
		d.MarkDirty(i)
	}
	out := make([]byte, 0, 2*len(text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		out = d.AppendJSON(out[:0], root)
	}
}
