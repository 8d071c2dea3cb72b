package workspace

import (
	"errors"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

// FuzzRead checks that each error has a position in the text, that ranges are in the text, and that nothing panics.
func FuzzRead(f *testing.F) {
	for _, text := range []string{ranges, listHead + asItem(head), `{"kind": "TplList", "items": [{"a": 1}]}{"b": 1}`, "a: 1\n...\nb: 2\n--- c\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, m := range Read(text) {
			if m.Err != nil {
				if e := (*engine.Error)(nil); !errors.As(m.Err, &e) || e.Position == nil || e.Position.Line < 1 {
					t.Errorf("%v has no position", m.Err)
				}
				continue
			}
			size := len(m.Text().Bytes())
			for _, pointer := range []string{"", "/kind", "/a", "/items/0", "/b/1/c"} {
				r, ok := m.Range(pointer)
				if ok && (r.Value.Begin < 0 || r.Value.End > size || r.Value.Begin > r.Value.End || r.Key.Begin > r.Key.End) {
					t.Errorf("%s: %+v", pointer, r)
				}
			}
		}
	})
}
