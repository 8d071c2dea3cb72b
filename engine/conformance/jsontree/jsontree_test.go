package jsontree

import "testing"

func TestRoundTrip(t *testing.T) {
	for _, doc := range []string{
		`null`, `true`, `1.0`, `1e400`, `-0`, `"<&>"`, `[]`, `{}`, `[1,[2,{"a":null}]]`, `{"b":1,"a":2,"b":3}`, `{"":{"a.b":[{}]}}`,
	} {
		n, err := Parse([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if got := n.String(); got != doc {
			t.Errorf("%s came back as %s", doc, got)
		}
		if got := n.Clone().String(); got != doc {
			t.Errorf("the clone of %s is %s", doc, got)
		}
	}
}

func TestEdit(t *testing.T) {
	n := Obj("a", 1, "b", []any{"x", true})
	n.Set("a", "y").Set("c", nil)
	n.Get("b").RemoveChild(0)
	if got, want := n.String(), `{"a":"y","b":[true],"c":null}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	n.Delete("b")
	n.Members = append(n.Members, Member{RawKey: `"\u0061"`, Value: Raw("1e400")})
	if got, want := n.String(), `{"a":"y","c":null,"\u0061":1e400}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n.At("no", "such", "way") != nil || n.Size() != 4 {
		t.Errorf("size %d", n.Size())
	}
}
