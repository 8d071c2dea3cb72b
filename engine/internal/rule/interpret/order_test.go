package interpret

import (
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// TestPositionOf: names are looked up as they are and without escapes; nil and unknown keys come last.
func TestPositionOf(t *testing.T) {
	positions := map[string]int{"b": 0, "a-b": 1, "a": 2}
	for key, want := range map[ref.Val]int{
		types.String("b"): 0, types.String("a"): 2, types.String("a-b"): 1, types.String("a__dash__b"): 1,
		types.String("x"): 3, types.Int(1): 3, nil: 3,
	} {
		if got := positionOf(key, positions); got != want {
			t.Errorf("%v: %d, want %d", key, got, want)
		}
	}
}
