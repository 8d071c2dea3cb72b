package tree

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/testenv"
)

func TestFinder(t *testing.T) {
	for _, n := range []int{0, 1, fewMembers, fewMembers + 1, 100} {
		var members, elements []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
			elements = append(elements, fmt.Sprint(i))
		}
		d := Acquire()
		root, err := d.ParseJSON([]byte(`{"o":{`+strings.Join(members, ",")+`},"l":[`+strings.Join(elements, ",")+`]}`), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		f := d.Finder()
		o, l := f.Field(root, "o"), f.Field(root, "l")
		for i := range n + 2 {
			key := fmt.Sprintf("k%d", i)
			if got, want := f.Field(o, key), d.Field(o, key); got != want || got != f.Child(o, Entry(key)) {
				t.Errorf("of %d members, %s: node %d, want %d", n, key, got, want)
			}
			if got, want := f.Child(l, At(i)), d.Index(l, i); got != want {
				t.Errorf("of %d elements, %d: node %d, want %d", n, i, got, want)
			}
		}
		if f.Field(l, "k0") != 0 || f.Child(o, At(0)) != 0 || f.Child(l, At(-1)) != 0 {
			t.Error("found something in what it is not")
		}
		if got, depth := f.Deepest(root, Path{Name("o"), Name("none"), At(3)}); got != o || depth != 1 {
			t.Errorf("deepest is %d at depth %d, want %d at depth 1", got, depth, o)
		}
		d.Release()
	}
}

// TestManyPositionsByPath bounds the time to look up many positions by path.
func TestManyPositionsByPath(t *testing.T) {
	const count = 100_000
	text := []byte(`{"l":[` + strings.Repeat("1,", count) + `1]}`)
	d := Acquire()
	defer d.Release()
	if _, err := d.ParseJSON(text, Limits{}); err != nil {
		t.Fatal(err)
	}
	start := testenv.CPUTime()
	for i := range count {
		if got := d.PositionAt(Path{Name("l"), At(i)}); got.Offset != 6+2*i {
			t.Fatalf("element %d at %+v", i, got)
		}
	}
	if took := testenv.CPUTime() - start; took > 5*time.Second { // some milliseconds on an idle machine
		t.Errorf("took %v", took)
	}
}
