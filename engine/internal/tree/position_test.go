package tree

import (
	"strings"
	"testing"
)

func TestLocateAndPosition(t *testing.T) {
	text := "{\n  \"a\": [1, \"é\", {\"b\": null}],\n  \"é\": {\"\": \"x\"}, \"\\u0064\": 1}\n"
	d := Acquire()
	defer d.Release()
	root := mustParse(t, d, []byte(text))
	for _, c := range []struct {
		path      Path
		want, key Position
	}{
		{nil, Position{1, 1, 0}, Position{1, 1, 0}},
		{Path{Name("a")}, Position{2, 8, 9}, Position{2, 3, 4}},
		{Path{Name("a"), At(1)}, Position{2, 12, 13}, Position{2, 12, 13}},
		{Path{Name("a"), At(2)}, Position{2, 17, 19}, Position{2, 17, 19}},
		{Path{Name("a"), At(2), Name("b")}, Position{2, 23, 25}, Position{2, 18, 20}},
		{Path{Name("é")}, Position{3, 8, 41}, Position{3, 3, 35}},
		{Path{Name("é"), Name("")}, Position{3, 13, 46}, Position{3, 13, 46}},
		{Path{Name("d")}, Position{3, 29, 62}, Position{3, 29, 62}},
	} {
		i := d.Finder().Lookup(root, c.path)
		if got := d.KeyPosition(i, c.path); got != c.key {
			t.Errorf("the key of %s is at %+v, want %+v", c.path, got, c.key)
		}
		if got := d.PositionAt(c.path); got != c.want {
			t.Errorf("%s is by path at %+v", c.path, got)
		}
		if got := d.PositionOf(i, nil); got != c.want {
			t.Errorf("%s is by node at %+v, want %+v", c.path, got, c.want)
		}
	}
	for _, p := range []Path{{Name("b")}, {At(0)}, {Name("a"), Name("0")}, {Name("a"), At(3)}, {Name("a"), At(0), Name("x")}} {
		if d.Finder().Lookup(root, p) != 0 {
			t.Errorf("%s is there", p)
		}
	}
	if got := d.PositionAt(Path{Name("a"), At(7)}); got.Line != 2 || got.Column != 8 {
		t.Errorf("what is not there is at %+v", got)
	}
	i, err := d.Parse([]byte("1"), Arena, Limits{})
	if err != nil || d.PositionOf(i, nil) != (Position{}) {
		t.Errorf("a node of the Arena is at %+v", d.PositionOf(i, nil))
	}
}

// TestManyPositions takes minutes if each position is counted from the beginning of its line.
func TestManyPositions(t *testing.T) {
	text := []byte("[" + strings.Repeat("\"é\",", 200_000) + "1]")
	d := Acquire()
	defer d.Release()
	root := mustParse(t, d, text)
	k := 0
	for i := d.Nodes[root].First; d.Nodes[i].Kind == String; i = d.Nodes[i].Next {
		if got, want := d.PositionOf(i, nil), (Position{1, 2 + 4*k, 1 + 5*k}); got != want {
			t.Fatalf("element %d is at %+v, want %+v", k, got, want)
		}
		k++
	}
}
