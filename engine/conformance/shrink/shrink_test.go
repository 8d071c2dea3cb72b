package shrink

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

func TestDocuments(t *testing.T) {
	parse := func(doc string) *jsontree.Node {
		n, err := jsontree.Parse([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	crd := parse(`{"keep":{"x":1,"culprit":true,"y":[1,2,3]},"other":{"deep":{"er":[1,2,{"a":"long text that is not needed"}]}}}`)
	body := parse(`{"v":[1,2,{"bad":"0123456789","n":null}],"w":{"x":{"y":{"z":1}}}}`)
	calls := 0
	Documents(func() bool {
		calls++
		return strings.Contains(crd.String(), "culprit") && strings.Contains(body.String(), "bad")
	}, 1000, body, nil, crd)
	if got, want := crd.String(), `{"keep":{"culprit":true}}`; got != want {
		t.Errorf("definition %s, want %s", got, want)
	}
	if got := body.String(); len(got) > len(`{"v":[{"bad":"a"}]}`) {
		t.Errorf("object %s", got)
	}
	t.Logf("%d calls", calls)
}

func TestBudget(t *testing.T) {
	calls := 0
	Documents(func() bool { calls++; return false }, 5, jsontree.Obj("a", []any{1, 2, 3, 4, 5, 6, 7, 8}))
	if calls != 5 {
		t.Errorf("%d calls, want 5", calls)
	}
}
