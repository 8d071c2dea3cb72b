package workspace

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRead reads a document and lists of 1,000 items.
func BenchmarkRead(b *testing.B) {
	yaml := head + "spec:\n  containers:\n" + strings.Repeat("  - name: a\n    image: registry.example.com/app:1.2.3\n    ports: [80, 443]\n", 10)
	json := `{"apiVersion": "example.com/v1", "kind": "Tpl", "metadata": {"name": "a"}, "spec": {"containers": [` +
		strings.TrimSuffix(strings.Repeat(`{"name": "a", "image": "registry.example.com/app:1.2.3", "ports": [80, 443]},`, 10), ",") + `]}}`
	for _, c := range []struct{ name, text string }{
		{"yaml", yaml}, {"json", json},
		{"documents", strings.Repeat("---\n"+yaml, 1000)},
		{"yaml-list", listHead + strings.Repeat(asItem(yaml), 1000)},
		{"json-list", fmt.Sprintf(`{"kind": "List", "apiVersion": "v1", "items": [%s]}`, strings.TrimSuffix(strings.Repeat(json+",", 1000), ","))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if len(Read([]byte(c.text))) == 0 {
					b.Fatal("nothing was read")
				}
			}
		})
	}
}
