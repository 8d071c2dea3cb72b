package apiserver

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
)

// TestEqualValues: the result is upstream's.
func TestEqualValues(t *testing.T) {
	all := []any{
		nil, true, false, int64(0), int64(1), 0.0, 1.0, "", "1", 1, []string{"1"}, map[string]string{"a": "1"},
		map[string]any(nil), map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": int64(1)}, map[string]any{"b": int64(1)},
		map[string]any{"a": int64(1), "b": []any{}}, []any(nil), []any{}, []any{nil}, []any{int64(1)}, []any{1.0}, []any{"1", "2"}, []any{"2", "1"},
	}
	for _, a := range all {
		for _, b := range all {
			for name, v := range map[string][2]any{"": {a, b}, "in an object": {map[string]any{"v": a}, map[string]any{"v": b}}} {
				if got, want := equalValues(v[0], v[1]), equality.Semantic.DeepEqual(v[0], v[1]); got != want {
					t.Errorf("%#v and %#v %s: %v, not %v", a, b, name, got, want)
				}
			}
		}
	}
}
