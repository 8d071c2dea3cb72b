package tree

import (
	"fmt"
	"strings"
	"testing"
)

// TestLongLine checks many positions in one long line, and that lookups do not count from the beginning of the line.
func TestLongLine(t *testing.T) {
	const items = 100_000
	text := "x: é\nl: [" + strings.Repeat("é, ", items) + "é]\n"
	_, source, err := YAMLToJSON([]byte(text), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{items, 0, 1, 340, 341, 342, 1023, 1024, items - 1} {
		want := Position{Line: 2, Column: 5 + 3*i, Offset: len("x: é\nl: [") + len("é, ")*i}
		if got := source.Position(Path{Name("l"), At(i)}); got != want {
			t.Errorf("item %d: %v, want %v", i, got, want)
		}
	}
	for i := range items { // takes hours if each lookup counts from the beginning of the line
		if got := source.Position(Path{Name("l"), At(i)}); fmt.Sprint(text[got.Offset:got.Offset+2]) != "é" {
			t.Fatalf("item %d: %v", i, got)
		}
	}
}
