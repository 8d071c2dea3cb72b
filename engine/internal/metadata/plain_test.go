package metadata

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

func TestPlain(t *testing.T) {
	long := strings.Repeat("a", 64)
	tests := []struct {
		in    string
		rules Rules
		want  bool
	}{
		{`{"name":"x","namespace":"d"}`, Rules{Namespaced: true}, true},
		{`{"name":"x"}`, Rules{Namespaced: true}, false},
		{`{"name":"x"}`, Rules{}, true},
		{`{"name":"x","namespace":"d"}`, Rules{}, false},
		{`{"namespace":"d"}`, Rules{Namespaced: true}, false},
		{`{}`, Rules{Embedded: true}, true},
		{`{"name":"A B","namespace":"d"}`, Rules{Embedded: true}, true},
		{`{"name":"a/b"}`, Rules{Embedded: true}, false},
		{`{"name":"` + long + `","labels":{"` + long[1:] + `":"` + long[1:] + `"}}`, Rules{}, true},
		{`{"name":"x","labels":{"` + long + `":""}}`, Rules{}, false},
		{`{"name":"x","labels":{"a/b/c":""}}`, Rules{}, false},
		{`{"name":"x","finalizers":["a.b/c"],"ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"a","uid":"b"}]}`, Rules{}, false},
		{`{"name":"x","generation":-1}`, Rules{}, false},
	}
	for _, tt := range tests {
		d := tree.Acquire()
		root, err := d.ParseJSON([]byte(tt.in), tree.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := Plain(d, root, tt.rules); got != tt.want {
			t.Errorf("Plain(%s, %+v) = %v", tt.in, tt.rules, got)
		}
		if n := testing.AllocsPerRun(10, func() { Plain(d, root, tt.rules); Normalize(d, root) }); n != 0 {
			t.Errorf("%s: %v allocations", tt.in, n)
		}
		d.Release()
	}
}
