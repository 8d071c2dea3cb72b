package document

import (
	"errors"
	"reflect"
	"testing"
)

const text = `{"metadata":{"name":"a\u0062"},"n":1,"f":1.0,"big":1e400,"b":[true,false,null,"",[2,{}]]}`

func TestRead(t *testing.T) {
	err := Read([]byte(text[:len(text)-len(`,"big":1e400,"b":[true,false,null,"",[2,{}]]}`)]+"}"), Limits{}, func(root Value) error {
		want := map[string]any{"metadata": map[string]any{"name": "ab"}, "n": int64(1), "f": 1.0}
		if got := root.Any(); !reflect.DeepEqual(got, want) {
			t.Errorf("%v", got)
		}
		if got := root.Field("f").Raw(); string(got) != "1.0" {
			t.Errorf("%s", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := Read([]byte(text), Limits{}, nil); !errors.As(err, new(*SyntaxError)) {
		t.Error(err)
	}
	if err := Read([]byte(`[]`), Limits{MaxBytes: 1}, nil); !errors.As(err, new(*LimitError)) {
		t.Error(err)
	}
	wrong := errors.New("wrong")
	if err := Read([]byte(`1`), Limits{}, func(Value) error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
}

func TestMissingValue(t *testing.T) {
	for _, json := range []string{`{"a":1}`, `[{"missing":1}]`, `"missing"`} {
		if err := Read([]byte(json), Limits{}, func(root Value) error {
			v := root.Field("missing").Field("x")
			if v.Exists() || v.Raw() != nil || v.Any() != nil || v.Equal(nil) {
				t.Errorf("%s: %s", json, v.Raw())
			}
			for e := range v.Elements() {
				t.Errorf("%s: %s", json, e.Raw())
			}
			for e := range root.Field("a").Elements() {
				t.Errorf("%s: %s", json, e.Raw())
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestElements(t *testing.T) {
	var got []any
	if err := Read([]byte(`[1,"x",[2]]`), Limits{}, func(root Value) error {
		for e := range root.Elements() {
			if got = append(got, e.Any()); len(got) == 2 {
				break
			}
		}
		return nil
	}); err != nil || !reflect.DeepEqual(got, []any{int64(1), "x"}) {
		t.Error(got, err)
	}
}

// TestEqual compares each pair of values.
func TestEqual(t *testing.T) {
	texts := []string{
		`null`, `true`, `false`, `0`, `1`, `1.0`, `""`, `"1"`, `[]`, `[1]`, `[1.0]`, `[1,2]`, `[2,1]`, `{}`, `{"a":1}`, `{"a":1.0}`,
		`{"a":null}`, `{"b":1}`, `{"a":1,"b":[{"c":"d"}]}`, `{"b":[{"c":"d"}],"a":1}`, `{"a":1,"b":[{"c":"e"}]}`,
	}
	for _, a := range texts {
		for _, b := range texts {
			var other any
			err := Read([]byte(b), Limits{}, func(root Value) error {
				other = root.Any()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := Read([]byte(a), Limits{}, func(root Value) error {
				if want := reflect.DeepEqual(root.Any(), other); root.Equal(other) != want {
					t.Errorf("%s and %s: want %v", a, b, want)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestEqualExcept(t *testing.T) {
	other := map[string]any{"a": int64(1), "b": map[string]any{"a": int64(2)}}
	for json, want := range map[string]bool{
		`{"b":{"a":2}}`: true, `{"a":3,"b":{"a":2}}`: true, `{"a":1,"b":{"a":3}}`: false, `{"b":{}}`: false, `{}`: false,
		`{"b":{"a":2},"c":1}`: false, `{"b":{"a":2},"x":1}`: true,
	} {
		if err := Read([]byte(json), Limits{}, func(root Value) error {
			if root.Equal(other, "a", "x") != want {
				t.Errorf("%s: want %v", json, want)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestReadAllocates: reading reuses its memory.
func TestReadAllocates(t *testing.T) {
	json, other := []byte(`{"a":1,"b":["x",{"c":2.5}]}`), map[string]any{"a": int64(1), "b": []any{"x", map[string]any{"c": 2.5}}}
	allocations := testing.AllocsPerRun(100, func() {
		same := false
		if err := Read(json, Limits{}, func(root Value) error {
			same = root.Equal(other, "metadata")
			for e := range root.Field("b").Elements() {
				same = same && e.Exists()
			}
			return nil
		}); err != nil || !same {
			t.Error(err, same)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
