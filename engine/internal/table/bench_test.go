package table

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// BenchmarkAppendRow measures rows of common columns, which allocate nothing.
func BenchmarkAppendRow(b *testing.B) {
	for _, c := range []struct{ name, kind, path string }{
		{"field", "integer", ".spec.replicas"}, {"condition", "string", `.spec.items[?(@.t=="Ready")].s`}, {"list", "string", ".spec.list"}, {"object", "string", ".spec.deep"},
		{"age", "date", ".metadata.creationTimestamp"},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := tree.Acquire()
			root, err := d.ParseJSON([]byte(sample), tree.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			columns := CompileColumns([]apiextensionsv1.CustomResourceColumnDefinition{{Name: c.name, Type: c.kind, JSONPath: c.path}})
			now := time.Now()
			var row []byte
			b.ReportAllocs()
			for b.Loop() {
				if row, err = columns.AppendRow(row[:0], d, root, now, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
