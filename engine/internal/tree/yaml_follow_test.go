package tree

import (
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/testenv"
)

func TestYAMLFollow(t *testing.T) {
	const text = `items:
- object: &o
    "0": {a/b: [x, {"~": 1}]}
    list: [[1], {"1": y}]
- object: *o
`
	_, y, err := YAMLToJSON([]byte(text), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	first, second := Path{Name("items"), At(0), Name("object")}, Path{Name("items"), At(1), Name("object")}
	for _, c := range []struct {
		name, pointer string
		from          Path
		at            string // the text at the position
	}{
		{"nowhere to go", "", first, "&o"},
		{"a key of digits", "/0/a~1b", first, "[x,"},
		{"an index", "/0/a~1b/1/~0", first, "1}]"},
		{"an index of an index", "/list/0/0", first, "1], "},
		{"a key of digits in a list", "/list/1/1", first, "y}"},
		{"what is missing", "/list/1/2/3", first, `{"1": y`},
		{"an index beyond", "/list/7", first, "[[1]"},
		{"behind what is missing", "/x/list/0", first, "&o"},
		{"through an alias", "/list/1/1", second, "y}"},
		{"from nowhere", "/object", Path{Name("items"), At(2)}, "- object: &o"},
		{"the root", "/items/1", nil, "object: *o"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := y.Follow(c.from, c.pointer)
			if at := strings.Index(text, c.at); got.Offset != at {
				t.Errorf("%+v, which is at %q, want %d", got, text[got.Offset:], at)
			}
		})
	}
}

// TestYAMLFollowDeep bounds the time to follow a path of thousands of steps.
func TestYAMLFollowDeep(t *testing.T) {
	const depth, times, most = 5000, 100, 20 * time.Second // usually tens of milliseconds
	_, y, err := YAMLToJSON([]byte("a: "+strings.Repeat("[", depth)+"{u: 1}"+strings.Repeat("]", depth)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	pointer := "/a" + strings.Repeat("/0", depth) + "/u"
	begin := testenv.CPUTime()
	for range times {
		if at := y.Follow(nil, pointer); at.Column != len("a: ")+depth+len("{u: ")+1 {
			t.Fatalf("%+v", at)
		}
	}
	if took := testenv.CPUTime() - begin; took > most {
		t.Errorf("it took %s, more than %s", took, most)
	}
}
