package document

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

func TestAppend(t *testing.T) {
	for _, s := range []string{"", "a", "<a&b>", "\"\\\n\x00", "é\u2028", "\xff"} {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendCanonicalString([]byte("x"), s); string(got) != "x"+string(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := AppendString(nil, "<a&b>\n"); string(got) != `"<a&b>\n"` {
		t.Errorf("%s", got)
	}
	for _, v := range []any{nil, true, int64(-1), 1e21, 1.0, 1e-7, "<", []any{"<", 1.5}, map[string]any{"b": nil, "a": int64(1)}} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendValue(nil, v); string(got) != string(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := AppendValue(nil, []any{math.NaN()}); string(got) != "null" {
		t.Errorf("%s", got)
	}
}

func TestPointers(t *testing.T) {
	for pointer, want := range map[string][]string{
		"": {}, "/": {""}, "/a/0": {"a", "0"}, "/a~1b/~0": {"a/b", "~"}, "/~01/": {"~1", ""},
	} {
		got := SplitPointer(pointer)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", pointer, got, want)
		}
		again := ""
		for _, key := range got {
			again += "/" + EscapePointer(key)
		}
		if again != pointer {
			t.Errorf("%q becomes %q", pointer, again)
		}
	}
}
