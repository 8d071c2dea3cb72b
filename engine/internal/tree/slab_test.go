package tree

import (
	"slices"
	"strings"
	"testing"
)

// TestSlab checks that texts stay unchanged when the slab continues in new pieces.
func TestSlab(t *testing.T) {
	var s Slab
	var got, want []string
	for i := range 500 {
		text := strings.Repeat(string(rune('a'+i%26)), i*i%2000)
		want = append(want, text, text)
		got = append(got, s.Clone(text), string(append(s.Bytes(func(dst []byte) []byte { return append(dst, text...) }), "overwritten"...)[:len(text)]))
	}
	if !slices.Equal(got, want) {
		t.Error("texts were written over")
	}
	if n := testing.AllocsPerRun(10, func() {
		var s Slab
		for range 20 {
			s.Clone("some forty bytes of text, as a violation has")
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
