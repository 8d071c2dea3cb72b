package lens

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// BenchmarkConvert converts the first object of a test.
func BenchmarkConvert(b *testing.B) {
	for _, file := range []string{"rules", "cel"} {
		b.Run(file, func(b *testing.B) {
			f, set := benchmarkSet(b, file)
			o := f.Tests[0].Objects[0]
			text, err := yaml.YAMLToJSON([]byte(o.Object))
			if err != nil {
				b.Fatal(err)
			}
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				d := tree.Acquire()
				root, err := d.ParseJSON(text, tree.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				if err := set.Convert(b.Context(), d, root, o.From, o.To, true); err != nil {
					b.Fatal(err)
				}
				out = d.AppendJSON(out[:0], root)
				d.Release()
			}
		})
	}
}

func benchmarkSet(tb testing.TB, file string) (*testFile, *Set) {
	tb.Helper()
	text, err := os.ReadFile("testdata/" + file + ".yaml")
	if err != nil {
		tb.Fatal(err)
	}
	f := &testFile{}
	if err := yaml.UnmarshalStrict(text, f); err != nil {
		tb.Fatal(err)
	}
	set, found := compileTest(tb, f, f.Tests[0].Rules)
	if set == nil {
		tb.Fatal(found)
	}
	return f, set
}
