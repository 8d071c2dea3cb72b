package interpret

import (
	"fmt"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

func TestSortByPosition(t *testing.T) {
	positions := map[string]int{"b": 0, "a-b": 1, "a": 2}
	key := func(text string) ref.Val { return types.String(text) }
	for _, c := range []struct {
		what       string
		keys, want []ref.Val
	}{
		{"the order of the document", []ref.Val{key("a"), key("b")}, []ref.Val{key("b"), key("a")}},
		{"by the names of the document", []ref.Val{key("a"), key("a-b")}, []ref.Val{key("a-b"), key("a")}},
		{"by escaped names", []ref.Val{key("a"), key("a__dash__b"), key("b")}, []ref.Val{key("b"), key("a__dash__b"), key("a")}},
		{"nil comes last", []ref.Val{nil, key("a"), nil, key("b")}, []ref.Val{key("b"), key("a"), nil, nil}},
		{"a key without a position, too", []ref.Val{key("x"), key("a")}, []ref.Val{key("a"), key("x")}},
	} {
		if got := (&Evaluation{}).sortByPosition(c.keys, positions); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
