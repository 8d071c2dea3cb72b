package value

import (
	"slices"
	"strings"
	"testing"
)

// TestSlabPieces checks that texts stay unchanged when the slab continues in new pieces.
func TestSlabPieces(t *testing.T) {
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
			s.Clone("some forty bytes of text, as a finding has")
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestSlab(t *testing.T) {
	d := Acquire()
	defer d.Release()
	root := mustParse(t, d, []byte(`{"a":[1,{"b/c":"x"}]}`))
	paths := []Path{nil, {Name("a")}, {Name("a"), At(1), Name("b/c")}, {Name("")}}
	for _, room := range []int{0, 3, 1000} { // growth between texts, within texts, and none
		s := NewSlab(room)
		var texts [][2]string
		var values [][]byte
		for _, p := range paths {
			texts = append(texts, [2]string{s.Pointer(p), s.Dotted(p)})
			values = append(values, s.JSON(d, root))
		}
		for i, p := range paths {
			if texts[i][0] != p.Pointer() || texts[i][1] != p.Dotted() || string(values[i]) != `{"a":[1,{"b/c":"x"}]}` {
				t.Errorf("room %d, %s: %q %s", room, p, texts[i], values[i])
			}
			_ = append(values[i], "overwritten"...)
		}
		if texts[3][1] != "" || texts[2][0] != "/a/1/b~1c" {
			t.Errorf("room %d: %q", room, texts)
		}
	}
}
